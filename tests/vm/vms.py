#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two virtual machines: a PCI NIC each goes from the kernel to vfio-pci, nofd drives its rings, a job runs across, and it comes back.

usage: vms.py BUILD MODEL, which is a name in MODELS
The machines run this one's programs (image.py). Each has the NIC, called "wire", and one for the launcher, both joined by datagrams.
As root the wire of virtio-net is a bridge, in a network namespace that ends with us, and the NIC has two queues.
What is said on the way is what the test saw."""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import image  # noqa: E402
from machine import Failed, Machine, accelerator  # noqa: E402

BUILD, MODEL = os.path.abspath(sys.argv[1]), sys.argv[2]
MODELS = {
    # QEMU's arguments; the kernel's driver; whether DPDK's receive interrupt comes; turns of an idle core in a second, at most
    "virtio-net": ("virtio-net-pci,iommu_platform=on,disable-legacy=on,speed=10000,duplex=full,bus=seat", "virtio-pci", True, 200),
    "e1000e": ("e1000e,bus=seat", "e1000e", False, 1500),
}
ARGUMENTS, DRIVER, WAKES, TURNS = MODELS[MODEL]
SEAT = "pcie-root-port,id=seat,chassis=1,addr=0x8"  # which a NIC can be taken out of
PCI = "0000:01:00.0"
PORT = 48620  # of the first core
WIRE, LAUNCH = "10.7.0.", "10.8.0."  # and 1, 2
PATIENCE_S = 300  # a deadline that only a fault reaches, also where nothing but emulation is
BOOTS = 3
NOF, HEAT = f"{BUILD}/nof", f"{BUILD}/examples/heat3d --size 32 --steps 40"
RECORDING = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/data/lu.W")
BEGAN = time.monotonic()


def say(text):
    print(f"{time.monotonic() - BEGAN:6.1f} s  {text}", flush=True)


def skip(why):
    print(f"SKIP: {why}")
    sys.exit(77)


def wire_device(number):
    return f"{ARGUMENTS},{'mq=on,rss=on,vectors=6,' if SPREADS else ''}id=wire,netdev=wirenet,mac=52:54:00:00:00:0{number + 1}"


def nics(number, folder):
    """QEMU's arguments of a machine's two NICs."""
    out = ["-device", SEAT]
    for name, device in (("wire", wire_device(number)),
                         ("launch", f"virtio-net-pci,addr=0x9,id=launch,netdev=launchnet,mac=52:54:00:00:04:0{number + 1}")):
        ours, theirs = (f"{folder}/{name}{n}" for n in (number, 1 - number))
        joined = f"dgram,id={name}net,local.type=unix,local.path={ours},remote.type=unix,remote.path={theirs}"
        if name == "wire" and SPREADS:
            joined = f"tap,id=wirenet,ifname=wire{number},script=no,downscript=no,vhost=off,queues=2"
        out += ["-netdev", joined, "-device", device]
    return out


def check(right, what):
    if not right:
        raise Failed(what)


def both(machines, command):
    """Side by side; their outputs. {n} in the command is the machine's number from 1 on."""
    for machine in machines:
        machine.begin(command.replace("{n}", str(machine.number + 1)))
    answers = [machine.end(PATIENCE_S) for machine in machines]
    for machine, (status, out) in zip(machines, answers):
        check(status == 0, f"machine {machine.number}: {command}\nstatus {status}: {out}")
    return [out for _, out in answers]


def eventually(machine, command, what):
    end = time.monotonic() + PATIENCE_S
    while True:
        status, out = machine.run(command, PATIENCE_S)
        if status == 0:
            return out
        check(time.monotonic() < end, f"machine {machine.number}: {what}: {out}")


def answer(text):
    return re.findall(r"^ *(?:residual|checksum) .*$", text, re.M)


def alone():
    run = subprocess.run([NOF, "run", "--hosts", "1", "-n", "1", *HEAT.split()], stdin=subprocess.DEVNULL, capture_output=True,
                         text=True, check=False, timeout=PATIENCE_S)
    check(run.returncode == 0 and answer(run.stdout), f"heat3d alone: {run.stdout}{run.stderr}")
    return answer(run.stdout)


def queues_share(machines):
    """What has many senders comes by both queues, and stays with the core of its queue unless its port names the other one."""
    first, second = machines
    here = os.path.dirname(os.path.abspath(__file__))
    first.must(f"{BUILD}/tests/vm/vm-queues {PCI} {WIRE}1 2 >/run/queues.log 2>&1 & queues=$!")
    eventually(first, "grep ready /run/queues.log || ! { kill -0 $queues || cat /run/queues.log; }", "two queues do not open")
    came_back = [second.must(f"{sys.executable} {here}/echo.py {WIRE}1 {port}", PATIENCE_S).strip() for port in (PORT - 1, PORT + 1)]
    out = first.must("kill $queues; wait $queues; grep core /run/queues.log")
    counts = [int(n) for n in re.findall(r"(\d+) datagrams", out)]
    handed = [int(n) for n in re.findall(r"(\d+) handed", out)]
    check(len(counts) == 2 and min(counts) > 0, f"not both queues have seen some: {out}")
    check(handed[0] > 0 and handed[1] == 0, f"what is for the second core and came by the first queue was not handed over: {out}")
    say(f"two queues: {counts[0]} and {counts[1]} datagrams of 64 ports; {handed[0]} of as many to the second core handed over by the "
        f"first; {', '.join(came_back)}")


def job(machines, program, meanwhile=None, well=True):
    """Four ranks on two machines. Hydra says what is to be started where, and we start it. Not well: it must fail."""
    first = machines[0]
    hosts = ",".join(f"{LAUNCH}{n}" for n in (1, 2))
    first.must(f"cd /run; mpiexec.hydra -launcher manual -iface $launch -hosts {hosts} -ppn 2 -n 4 {program} >job.log 2>&1 & hydra=$!\n"
               "until grep -q HYDRA_LAUNCH_END job.log; do kill -0 $hydra && sleep 0.1 || break; done", PATIENCE_S)
    commands = re.findall(r"^HYDRA_LAUNCH: (.*)$", first.must("cat /run/job.log"), re.M)
    check(len(commands) == 2, f"Hydra: {first.must('cat /run/job.log')}")
    for machine, command in zip(machines, commands):
        machine.must(f"{command} >/run/proxy.log 2>&1 &")
    if meanwhile:
        meanwhile()
    status, _ = first.run(f"timeout {PATIENCE_S} tail --pid=$hydra -f /dev/null && wait $hydra", PATIENCE_S + 60)
    out = first.must("grep -v HYDRA_LAUNCH /run/job.log")
    check((status == 0) == well, f"{program}: status {status}: {out}")
    return out


def counters(machine):
    return {name: int(value) for name, value in re.findall(r"^ +([a-z]+\.[a-z_]+) +(\d+) ", machine.must(f"{NOF} stats"), re.M)}


def start_daemon(machine):
    """The first start fetches DPDK's drivers over 9p, which an emulated CPU on a busy machine takes longer for than `nof up` waits."""
    command = f"{NOF} up --feature compression=on --port {PCI} -- --ip {WIRE}{machine.number + 1}"
    for tries in (1, 2, 3):
        status, out = machine.run(command, PATIENCE_S)
        if status == 0:
            break
        check(tries < 3 and "is not ready after" in out, f"nof up: {out}")
        say(f"machine {machine.number}: nof up once more: {out.splitlines()[0]}")
    huge_kb = int(machine.must("awk '/^HugetlbPages/ { print $2 }' /proc/$(pidof nofd)/status"))
    check(huge_kb > 0, "nofd has no hugepages")
    eventually(machine, link_is("up"), "the link does not come up")
    nic = json.loads(machine.must(f"{NOF} status --json"))["nics"][0]
    say(f"machine {machine.number}: nofd on {PCI}: {nic['driver']}, {nic['link_rate_bps']} bit/s, {huge_kb} kB in hugepages")


def link_is(state):
    return f"{NOF} status | grep -E ' +{state} +[0-9]+$'"


def kernel_has_it(machines):
    both(machines, f"ip addr add {WIRE}{{n}}/24 dev $wire && ip link set $wire up")
    eventually(machines[0], f"busybox ping -c 1 -W 2 {WIRE}2", "no ping by the kernel's drivers")
    say(f"ping by the kernel's driver {DRIVER}")


def bind(machine):
    status, out = machine.run(f"{NOF} bind $wire", PATIENCE_S)
    check(status != 0 and f"is up, with {WIRE}" in out, f"nof bind takes an interface in use: {out}")
    out = machine.must(f"{NOF} bind --force --hugepages=256 $wire", PATIENCE_S)
    check(machine.must(f"basename $(readlink /sys/bus/pci/devices/{PCI}/driver)") == "vfio-pci", out)
    say(f"machine {machine.number}: {out.splitlines()[0]}")


def arp_is_answered(machines):
    """By nofd, of the first; the second still has its kernel."""
    first, second = machines
    out = second.must(f"ip neigh flush dev $wire; busybox arping -c 3 -w 60 -I $wire {WIRE}1", PATIENCE_S)
    check("52:54:00:00:00:01" in out.lower(), out)
    say(f"machine 1's kernel asks by ARP: {out.splitlines()[1]}")
    second.must("sysctl -qw net.ipv4.conf.$wire.arp_accept=1; ip neigh flush dev $wire")
    first.set_link("wire", False)
    eventually(first, link_is("down"), "nofd does not see that the link is down")
    second.must("ip neigh flush dev $wire")
    first.set_link("wire", True)
    eventually(first, link_is("up"), "nofd does not see that the link is up")
    eventually(second, f"ip neigh show {WIRE}1 | grep -i 52:54:00:00:00:01", "nofd does not announce its address")
    said = first.must("tail -n 2 /run/nof/nofd.log | cut -d' ' -f4- | paste -sd,")
    say(f"link down, link up: nofd follows, and announces its address; {said}")


def idle_core_sleeps(machine):
    """Frames no longer come: the core must sleep, and only look from time to time."""
    before = counters(machine)["core.sleeps"], machine.must("cut -d' ' -f1 /proc/uptime")
    machine.must("sleep 5")
    after = counters(machine)["core.sleeps"], machine.must("cut -d' ' -f1 /proc/uptime")
    per_s = (after[0] - before[0]) / (float(after[1]) - float(before[1]))
    interrupts = sum(int(n) for n in machine.must("grep vfio /proc/interrupts | awk '{ print $2; print $3 }'").split())
    say(f"machine {machine.number}: an idle core sleeps {per_s:.0f} times a second; {interrupts} interrupts of the device so far")
    check(per_s <= TURNS, "the core does not sleep")
    check(not WAKES or interrupts > 0, "no interrupt has come")


def jobs(machines, expected):
    first, second = machines
    out = job(machines, HEAT)
    check(answer(out) == expected, f"another answer than alone, {expected}: {out}")
    say(f"heat3d, 4 ranks on 2 machines: as alone: {expected[1].strip()}")
    out = job(machines, f"{BUILD}/examples/replay {RECORDING}")
    say("replay, every byte compared: " + out.splitlines()[-1].strip())
    for machine in machines:
        seen = counters(machine)
        check(seen.get("codec.tx_chunks", 0) > 0, "nothing was compressed")
        say(f"machine {machine.number}: " + ", ".join(f"{name} {seen.get(name, 0)}" for name in (
            "port.tx_frames", "port.rx_frames", "codec.tx_plain_bytes", "codec.tx_bytes", "path.retransmits")))

    def flap():
        """In the midst of it."""
        eventually(first, "grep -q heat3d /run/job.log", "the job does not begin")
        second.set_link("wire", False)
        eventually(second, link_is("down"), "nofd does not see that the link is down")
        second.set_link("wire", True)

    both(machines, f"{NOF} set dead_after_ms=60000")
    out = job(machines, HEAT.replace("--steps 40", "--steps 400"), flap)
    check("same answer (0 cells differ)" in out, out)
    check(second.must("grep -c 'link down' /run/nof/nofd.log") != "0", "the link was not down")
    say("heat3d with the cable out for a while: " + re.search(r"serial.*", out).group())


def unplugged(machines):
    """The second's NIC is pulled while a job uses it, and put in again."""
    first, second = machines

    def pull():
        eventually(second, f"""[ "$({NOF} status --json | grep -c '"state": "live"')" = 2 ]""", "the job does not begin")
        second.ask({"execute": "device_del", "arguments": {"id": "wire"}})
        nonlocal began
        began = time.monotonic()

    began = 0
    both(machines, f"{NOF} set dead_after_ms=800")
    out = job(machines, HEAT.replace("--steps 40", "--steps 1000000"), pull, well=False)
    took = time.monotonic() - began
    eventually(second, f"{NOF} status | grep -w gone", "nof status does not say that the NIC is gone")
    said = second.must("grep 'has gone' /run/nof/nofd.log | cut -d' ' -f4-")
    check("the device of our own NIC has gone" in out and took < PATIENCE_S, out)
    say(f"machine 2's NIC is pulled: the job has ended {took:.1f} s later; {said}")
    check("heat3d" not in second.must("ps -e -o comm="), "ranks are left")
    eventually(second, f"[ ! -e /sys/bus/pci/devices/{PCI} ]", f"the kernel still waits for the device: {out}")
    second.must(f"{NOF} down; {NOF} unbind {PCI}", PATIENCE_S)
    second.ask({"execute": "human-monitor-command", "arguments": {"command-line": f"device_add {wire_device(1)}"}})
    second.must("until wire=$(named 52:54:00:00:00); [ -n \"$wire\" ]; do sleep 0.1; done\n"
                f"ip addr add {WIRE}2/24 dev $wire && ip link set $wire up", PATIENCE_S)
    say("a new NIC in its place: the kernel's driver takes it")


def back(machines):
    machines[0].must(f"{NOF} down && {NOF} unbind {PCI}")
    drivers = both(machines, "until [ -e /sys/class/net/$wire ]; do sleep 0.1; done\n"
                   f"basename $(readlink /sys/bus/pci/devices/{PCI}/driver)")
    check(drivers == [DRIVER, DRIVER], f"drivers after unbind: {drivers}")
    eventually(machines[0], f"busybox ping -c 1 -W 2 {WIRE}2", "no ping after unbind")
    say(f"nof unbind: driver {DRIVER}, address and link as before; ping")


def scenario(machines, expected):
    both(machines, "modprobe -a virtio_net e1000e vfio-pci; export PATH=$PATH LANG=C\n"
         "named() { grep -l $1 /sys/class/net/*/address | cut -d/ -f5; }\n"
         "until wire=$(named 52:54:00:00:00) && launch=$(named 52:54:00:00:04); do sleep 0.1; done\n"
         f"ip addr add {LAUNCH}{{n}}/24 dev $launch && ip link set $launch up")
    both(machines, "cat /usr/lib/x86_64-linux-gnu/dpdk/pmds-*/*.so >/dev/null")  # into the cache, both at once
    kernel_has_it(machines)
    bind(machines[0])
    if SPREADS:
        queues_share(machines)
    start_daemon(machines[0])
    arp_is_answered(machines)
    bind(machines[1])
    start_daemon(machines[1])
    jobs(machines, expected)
    idle_core_sleeps(machines[1])
    unplugged(machines)
    back(machines)


def ip(command):
    subprocess.run(["ip", *command.split()], check=True)


def boot(folder, booted, accel):
    """An overloaded machine may emulate a boot so unevenly that its kernel gives up: once more, then."""
    for tries in range(BOOTS):
        machines = [Machine(number, folder, booted, nics(number, folder), accel) for number in (0, 1)]
        try:
            for machine in machines:
                machine.boot(PATIENCE_S)
                if SPREADS:
                    ip(f"link set wire{machine.number} master switch up")
            return machines
        except Failed as failed:
            for machine in machines:
                machine.stop()
            if tries == BOOTS - 1:
                raise
            say(f"once more: {failed}")
        except BaseException:
            for machine in machines:
                machine.stop()
            raise
    raise AssertionError


def main():
    for tool, package in (("qemu-system-x86_64", "qemu-system-x86"), ("mpiexec.hydra", "mpich"), ("setpriv", "util-linux"),
                          ("busybox", "busybox"), ("modprobe", "kmod")):
        if not shutil.which(tool):
            skip(f"{tool} is missing: apt install {package}")
    accel = accelerator()
    if os.environ.get("NOF_VM_ACCEL", accel) != accel:
        skip("no /dev/kvm with the processor's help, and emulation takes minutes: meson test -C build --suite vm")
    try:
        version, kernel = image.kernel()
    except image.Missing as missing:
        skip(str(missing))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    expected = alone()
    if SPREADS:
        ip("link add switch type bridge mcast_snooping 0")
        ip("link set switch up")
    with tempfile.TemporaryDirectory(prefix="nof-vm-") as folder:
        here = os.path.dirname(os.path.abspath(__file__))
        booted = {"kernel": image.unpacked(kernel, f"{folder}/vmlinux"), "inside": f"{here}/inside.sh",
                  "initramfs": image.initramfs(version, f"{folder}/initramfs", f"{here}/init.sh")}
        say(f"two machines with Linux {version} by {accel}, {MODEL}")
        machines = boot(folder, booted, accel)
        say("both have booted")
        try:
            scenario(machines, expected)
        except BaseException:
            for machine in machines:
                try:
                    print(f"--- machine {machine.number}:\n{machine.run('tail -n 20 /run/nof/nofd.log; dmesg | tail -n 20', 30)[1]}")
                except Failed as failed:
                    print(f"--- machine {machine.number} says no more: {failed}; {machine.said()}")
            raise
        finally:
            for machine in machines:
                machine.stop()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    say(f"done, with {used.ru_utime + used.ru_stime:.0f} s of CPU")


if MODEL == "virtio-net" and "NOF_VM_ALONE" not in os.environ and os.geteuid() == 0 and os.access("/dev/net/tun", os.R_OK | os.W_OK):
    os.execvpe("unshare", ["unshare", "--net", sys.executable, *sys.argv], os.environ | {"NOF_VM_ALONE": "1"})
SPREADS = "NOF_VM_ALONE" in os.environ
try:
    main()
except Failed as failed:
    print(f"FAILED: {failed}")
    sys.exit(1)
