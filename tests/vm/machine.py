# SPDX-License-Identifier: BSD-3-Clause
"""A test machine: a QEMU process, its shell, its monitor."""
import json
import os
import re
import select
import socket
import subprocess
import time


class Failed(Exception):
    """A command's, or the machine's, with what it said."""


def accelerator():
    """"kvm" where the processor helps it, else "tcg". Without that help (a kernel's own kind of KVM, in some clouds) an ordinary
    kernel is interpreted there, far slower than QEMU itself translates it."""
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        helped = re.search(r"^flags\s*:.*\b(vmx|svm)\b", file.read(), re.M)
    return "kvm" if helped and os.access("/dev/kvm", os.R_OK | os.W_OK) else "tcg"


class Channel:
    """Lines of a stream socket, with deadlines."""

    def __init__(self, path, alive, end):
        self.rest = b""
        self.socket = socket.socket(socket.AF_UNIX)
        while True:
            try:
                self.socket.connect(path)
                return
            except OSError as error:
                alive()
                if time.monotonic() > end:
                    raise Failed(f"QEMU opens no {path}") from error
                time.sleep(0.05)

    def send(self, text):
        self.socket.sendall(text.encode())

    def line(self, end):
        """None at the end of time; Failed if the other side is gone."""
        while b"\n" not in self.rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.socket], [], [], left)[0]:
                return None
            got = self.socket.recv(1 << 16)
            if not got:
                raise Failed("the machine has ended")
            self.rest += got
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode(errors="replace").rstrip("\r")


class Machine:
    """nics: QEMU's arguments of its network. folder: for its sockets and its console's log. QEMU ends with us, however we end."""

    def __init__(self, number, folder, image, nics, accel, memory_mb=1280):
        self.number, self.token = number, 0
        self.path = lambda name: os.path.join(folder, f"{name}{number}")
        command = [
            "setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-machine", f"q35,accel={accel}" + (",kernel-irqchip=split" if accel == "kvm" else ""),
            "-cpu", "host" if accel == "kvm" else "max,la57=off", "-smp", "2", "-m", str(memory_mb),
            "-device", "intel-iommu,intremap=on,device-iotlb=on",
            "-kernel", image["kernel"], "-initrd", image["initramfs"],
            "-append", f"console=ttyS0 panic=-1 quiet intel_iommu=on random.trust_cpu=on mitigations=off no_timer_check nowatchdog "
                       f"rdinit=/init -- {image['inside']} {number}",
            "-serial", f"file:{self.path('console')}",
            "-qmp", f"unix:{self.path('monitor')},server=on,wait=off",
            "-device", "virtio-serial-pci",
            "-chardev", f"socket,id=shell,path={self.path('shell')},server=on,wait=off",
            "-device", "virtserialport,chardev=shell,name=nof",
            "-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap",
            "-device", "virtio-9p-pci,fsdev=root,mount_tag=root",
            *nics]
        for name in ("monitor", "shell", "wire", "launch"):  # of a boot before
            if os.path.exists(self.path(name)):
                os.unlink(self.path(name))
        with open(self.path("qemu"), "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.shell = self.monitor = None

    def alive(self):
        if self.process.poll() is not None:
            raise Failed(f"machine {self.number} has ended: {self.said()}")

    def said(self):
        text = ""
        for name in ("qemu", "console"):
            if os.path.exists(self.path(name)):
                with open(self.path(name), encoding="utf-8", errors="replace") as file:
                    text += file.read()[-2000:]
        return text

    def boot(self, patience_s):
        end = time.monotonic() + patience_s
        self.shell = Channel(self.path("shell"), self.alive, end)
        self.monitor = Channel(self.path("monitor"), self.alive, end)
        self.monitor.line(end)
        self.ask({"execute": "qmp_capabilities"})
        while True:
            self.alive()
            line = self.shell.line(min(end, time.monotonic() + 1))
            if line is not None and line.startswith("ready"):
                return
            if line is None and time.monotonic() > end:
                raise Failed(f"machine {self.number} does not boot within {patience_s} s: {self.said()}")

    def ask(self, what):
        self.monitor.send(json.dumps(what) + "\n")
        while True:
            line = self.monitor.line(time.monotonic() + 60)
            if line is None:
                raise Failed("QEMU's monitor does not answer")
            answer = json.loads(line)
            if "error" in answer:
                raise Failed(f"QEMU: {answer['error']}")
            if "return" in answer:
                return answer["return"]

    def set_link(self, nic, up):
        self.ask({"execute": "set_link", "arguments": {"name": nic, "up": up}})

    def begin(self, command):
        """Sends it; end() waits for it."""
        self.token += 1
        self.shell.send(f"t{self.token}t {command}\0")

    def end(self, patience_s):
        """(status, output)."""
        end, out = time.monotonic() + patience_s, []
        while True:
            line = self.shell.line(end)
            if line is None:
                raise Failed(f"machine {self.number}: a command has not ended within {patience_s} s, so far:\n" + "\n".join(out))
            if line.startswith(f"t{self.token}t "):
                return int(line.split()[1]), "\n".join(out).strip("\n")
            out.append(line)

    def run(self, command, patience_s=120):
        self.begin(command)
        return self.end(patience_s)

    def must(self, command, patience_s=120):
        status, out = self.run(command, patience_s)
        if status != 0:
            raise Failed(f"machine {self.number}: {command}\nstatus {status}: {out}")
        return out

    def stop(self):
        """It has nothing to lose."""
        for channel in (self.shell, self.monitor):
            if channel:
                channel.socket.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
