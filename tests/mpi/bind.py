#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`nof bind`, `unbind` and `devices` on a machine of files: what they refuse and what they say, and a way there and back
with a kernel that looks at the files.

usage: bind.py NOF SCHEMA"""
import fcntl
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

NOF, SCHEMA = sys.argv[1], pathlib.Path(sys.argv[2])
PATIENCE_S = 60
LOOK_S = 0.002

IP = """#!/bin/sh
# What is in the files of ip/ is what the network has; what would change it is noted.
root=$(dirname "$0")/..
case "$*" in
"-json address show") cat "$root/ip/links" ;;
"-json address show dev "*) cat "$root/ip/$5" ;;
"-json -4 route show table all default") cat "$root/ip/default" ;;
"-json -6 route"*) echo "[]" ;;
"-json route get "*) cat "$root/ip/get" ;;
*"route show dev "*) [ "$1" = -6 ] || cat "$root/ip/routes" ;;
*) echo "$*" >>"$root/ip/done" ;;
esac
"""


class Machine:
    """A tree with NICs: eth0 (default route, SSH), eth1 (IOMMU group 5), eth2 and eth3 (group 6), eth4 (no IOMMU)."""

    def __init__(self, root):
        self.root = root
        self.stopped = threading.Event()
        self.broken = set()  # drivers that take nothing
        for n, (address, driver, group) in enumerate((("0000:01:00.0", "igb", "1"), ("0000:03:00.0", "e1000e", "5"),
                                                      ("0000:04:00.0", "ixgbe", "6"), ("0000:04:00.1", "ixgbe", "6"),
                                                      ("0000:05:00.0", "r8169", ""))):
            self.add(n, address, driver, group)
        self.add(9, "0000:07:00.0", "mlx5_core", "7")
        self.put("sys/bus/pci/devices/0000:08:00.0/class", "0x010802")  # a disk
        self.put("sys/bus/pci/drivers/vfio-pci/unbind", "")
        self.put("sys/bus/pci/drivers_probe", "")
        self.put("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0")
        self.put("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "0")
        self.put("sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "N")
        self.put("proc/net/if_inet6", "x")
        self.put("dev/vfio/vfio", "")
        self.put("bin/ip", IP)
        (root / "bin/ip").chmod(0o755)
        self.network({})

    def put(self, path, text):
        at = self.root / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(text + "\n")

    def add(self, n, address, driver, group):
        device = f"sys/bus/pci/devices/{address}"
        for name, text in (("class", "0x020000"), ("vendor", "0x8086"), ("device", f"0x10d{n}"), ("numa_node", "-1"),
                           ("driver_override", "(null)"), ("own", driver), ("interface", f"eth{n}")):
            self.put(f"{device}/{name}", text)
        self.put(f"sys/bus/pci/drivers/{driver}/unbind", "")
        if group:
            (self.root / device / "iommu_group").symlink_to(f"../../../../kernel/iommu_groups/{group}")
            self.put(f"sys/kernel/iommu_groups/{group}/devices/{address}", "")
        self.bound(address, driver)

    def network(self, addresses, default=None, ssh=None, routes=""):
        """addresses: of interfaces that are up; default: interface; ssh: (local, remote)."""
        links = []
        for n in (0, 1, 2, 3, 4, 9):
            name = f"eth{n}"
            info = [{"local": a, "prefixlen": 24, "scope": "global"} for a in addresses.get(name, [])]
            links.append({"ifname": name, "flags": ["UP"] if name in addresses else [], "addr_info": info})
            self.put(f"ip/{name}", json.dumps(links[-1:]))
            self.put(f"sys/class/net/{name}/flags", "0x1003" if name in addresses else "0x1002")
            self.put(f"sys/class/net/{name}/mtu", "1500")
        self.put("ip/links", json.dumps(links))
        self.put("ip/default", json.dumps([{"dst": "default", "gateway": "10.0.0.9", "dev": default}] if default else []))
        self.put("ip/get", json.dumps([{"dev": "eth9"}]))
        self.put("ip/routes", routes)
        words = [".".join(reversed(a.split("."))) for a in ssh] if ssh else []
        words = ["".join(f"{int(b):02X}" for b in w.split(".")) for w in words]
        line = f"   0: {words[0]}:0016 {words[1]}:C350 01 00000000:00000000 00:00000000 00000000     0        0 4711 1" if ssh else ""
        self.put("proc/net/tcp", line)

    def bound(self, address, driver):
        device = self.root / "sys/bus/pci/devices" / address
        (device / "driver").symlink_to(f"../../drivers/{driver}")
        name = (device / "interface").read_text().strip()
        if driver == "vfio-pci":
            group = os.path.basename(os.readlink(device / "iommu_group"))
            self.put(f"dev/vfio/{group}", "")
        else:
            (device / "net" / name).mkdir(parents=True)

    def unbound(self, address, driver):
        device = self.root / "sys/bus/pci/devices" / address
        (device / "driver").unlink()
        if driver == "vfio-pci":
            (self.root / "dev/vfio" / os.path.basename(os.readlink(device / "iommu_group"))).unlink(missing_ok=True)
        else:
            for name in (device / "net").iterdir():
                name.rmdir()
            (device / "net").rmdir()

    def take(self, path):
        text = path.read_text().strip("\n ")
        if text:
            path.write_text("")
        return text

    def look(self):
        for driver in (self.root / "sys/bus/pci/drivers").iterdir():
            if driver.is_dir() and (address := self.take(driver / "unbind")):
                self.unbound(address, driver.name)
        if address := self.take(self.root / "sys/bus/pci/drivers_probe"):
            device = self.root / "sys/bus/pci/devices" / address
            override = (device / "driver_override").read_text().strip()
            driver = override if override not in ("", "(null)") else (device / "own").read_text().strip()
            if not (device / "driver").exists() and driver not in self.broken:
                self.bound(address, driver)

    def run(self):
        while not self.stopped.wait(LOOK_S):
            self.look()

    def driver(self, address):
        link = self.root / "sys/bus/pci/devices" / address / "driver"
        return os.path.basename(os.readlink(link)) if link.is_symlink() else None


def check(what, good, shown=""):
    if not good:
        sys.exit(f"wrong: {what}\n{shown}")


def nof(machine, *args, **kw):
    done = subprocess.run([NOF, *args], env=os.environ | {"NOF_BIND_ROOT": str(machine.root)}, capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False, **kw)
    return done.returncode, done.stdout, done.stderr


def refuses(machine, words, *args):
    code, out, err = nof(machine, *args)
    check(f"{args}: exit code {code}", code == 1, out + err)
    for word in words if isinstance(words, tuple) else (words,):
        check(f"{args} does not say '{word}'", word in err, err)
    check(f"{args} has changed something", not list(machine.root.glob("run/nof/bind/*.json")))


def refusals(m):
    m.network({"eth0": ["10.0.0.1"], "eth1": ["10.0.1.1"]}, default="eth0")
    refuses(m, ("eth0 carries the default route via 10.0.0.9", "ip route replace"), "bind", "--force", "eth0")
    refuses(m, ("eth1 is up, with 10.0.1.1/24", "--force"), "bind", "0000:03:00.0")
    refuses(m, ("no IOMMU watches", "nof bind --no-iommu 0000:05:00.0"), "bind", "eth4")
    refuses(m, ("0000:04:00.1 is in its IOMMU group 6", "name both"), "bind", "eth2")
    refuses(m, ("mlx5_core", "nof up --port 0000:07:00.0"), "bind", "eth9")
    refuses(m, "no network device", "bind", "08:00.0")
    refuses(m, "there is no PCI device 0000:0a:00.0", "bind", "0a:00.0")
    refuses(m, 'did you mean "eth1"', "bind", "ehh1")
    m.put("sys/class/net/lo/type", "772")
    refuses(m, "lo is the loopback interface", "bind", "lo")
    for megabytes in ("0", "1x", "-1", str(2**32 + 1)):
        code, out, err = nof(m, "bind", f"--hugepages={megabytes}", "eth1")
        check(f"--hugepages={megabytes}", code == 2 and "is no number of MB" in err, out + err)
    # one of several next hops is one that carries it
    hops = [{"gateway": "10.0.1.9", "dev": "eth1", "weight": 1}, {"gateway": "10.0.2.9", "dev": "eth9", "weight": 1}]
    m.put("ip/default", json.dumps([{"dst": "default", "nexthops": hops}]))
    refuses(m, "eth1 carries the default route via 10.0.1.9", "bind", "--force", "eth1")
    # all or none: eth2 and eth3 could go, eth0 cannot
    m.network({"eth0": ["10.0.0.1"]}, default="eth0")
    refuses(m, "nothing was changed", "bind", "eth0", "eth2", "eth3")

    m.network({"eth1": ["10.0.1.1"]}, ssh=("10.0.1.1", "10.0.1.7"))
    refuses(m, "an SSH session from 10.0.1.7 goes by eth1", "bind", "--force", "eth1")
    # the session's own address lies elsewhere, and its way back by eth1
    m.network({"eth1": []}, ssh=("10.0.3.1", "10.0.1.7"))
    m.put("ip/get", json.dumps([{"dev": "eth1"}]))
    refuses(m, "an SSH session from 10.0.1.7 goes by eth1", "bind", "--force", "eth1")

    # what stands on it counts as it does
    m.network({"br0": []}, default="br0")
    (m.root / "sys/class/net/eth1/master").symlink_to("../br0")
    (m.root / "sys/class/net/eth1/upper_br0").symlink_to("../br0")
    refuses(m, ("br0 carries the default route", "eth1 is a port of br0; taken all the same, and unbind does not put it back"),
            "bind", "--force", "eth1")
    # so does the last of many
    for n in range(20):
        (m.root / f"sys/class/net/eth1/upper_a{n}").symlink_to(f"../a{n}")
    refuses(m, ("br0 carries the default route", "a19 stands on eth1"), "bind", "--force", "eth1")
    for n in range(20):
        (m.root / f"sys/class/net/eth1/upper_a{n}").unlink()
    m.network({})
    refuses(m, ("eth1 is a port of br0", "ip link set eth1 nomaster"), "bind", "eth1")
    (m.root / "sys/class/net/eth1/master").unlink()
    (m.root / "sys/class/net/eth1/upper_br0").unlink()

    # functions, an interface that is elsewhere, a daemon on the interface
    m.put("sys/bus/pci/devices/0000:03:10.0/class", "0x020000")
    (m.root / "sys/bus/pci/devices/0000:03:10.0/net/eth1v0").mkdir(parents=True)
    for n in range(2):
        (m.root / f"sys/bus/pci/devices/0000:03:00.0/virtfn{n}").symlink_to("../0000:03:10.0")
    refuses(m, "2 virtual functions", "bind", "eth1")
    m.network({}, default="eth1v0")
    refuses(m, "eth1v0 carries the default route", "bind", "--force", "eth1")
    m.network({})
    for n in range(2):
        (m.root / f"sys/bus/pci/devices/0000:03:00.0/virtfn{n}").unlink()
    shutil.rmtree(m.root / "sys/bus/pci/devices/0000:03:10.0")
    (m.root / "sys/bus/pci/devices/0000:03:00.0/net/eth1").rmdir()
    refuses(m, "another network namespace", "bind", "0000:03:00.0")
    (m.root / "sys/bus/pci/devices/0000:03:00.0/net/eth1").mkdir()
    m.put("proc/77/comm", "nofd")
    (m.root / "proc/77/fd").mkdir()
    (m.root / "proc/77/fd/5").symlink_to("socket:[815]")
    m.put("proc/net/unix", "0000000000000000: 00000002 00000000 00000000 0002 01 815 @nof-port/eth1")
    refuses(m, ("nofd (pid 77) plays a NIC on eth1", "nof down"), "bind", "--force", "eth1")
    m.put("proc/net/unix", "")

    # who cannot know the network changes nothing
    (m.root / "bin/ip").rename(m.root / "bin/no-ip")
    refuses(m, "install iproute2", "bind", "eth1")
    (m.root / "bin/no-ip").rename(m.root / "bin/ip")


def locked(m):
    """Nothing is looked at while another command changes it."""
    m.network({}, default="eth1")
    m.put("run/nof/bind/lock", "")
    with (m.root / "run/nof/bind/lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for command in ("bind", "unbind"):
            code, out, err = nof(m, command, "eth1")
            check(f"{command} under another", code == 1 and "another `nof bind`" in err and "default" not in out + err, out + err)


def late(m):
    """The kernel does not answer: who waits for it holds neither the lock nor the command's output, and the device is remembered."""
    m.network({})
    unbind = m.root / "sys/bus/pci/drivers/e1000e/unbind"
    unbind.unlink()
    os.mkfifo(unbind)
    try:
        code, out, err = nof(m, "bind", "eth1")
        check("a late kernel", code == 1 and "when that process has ended: nof unbind 0000:03:00.0" in err, out + err)
        check("all is said to be as before", "everything is" not in err, err)
        check("it is not remembered", (m.root / "run/nof/bind/0000:03:00.0.json").exists())
        with (m.root / "run/nof/bind/lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with unbind.open() as pipe:
            check("the pending write", pipe.read() == "0000:03:00.0")
    finally:  # nobody waits for ever, whatever went wrong
        os.close(os.open(unbind, os.O_RDONLY | os.O_NONBLOCK))
    unbind.unlink()
    m.put("sys/bus/pci/drivers/e1000e/unbind", "")
    code, out, err = nof(m, "unbind", "eth1")
    check("unbind after it", code == 0 and not list(m.root.glob("run/nof/bind/*.json")), out + err)


def there_and_back(m):
    m.network({"eth1": ["10.0.1.1"]},
              routes="10.8.0.0/16 via 10.0.5.9\n10.0.5.0/24 scope link\n10.0.1.0/24 proto kernel scope link")
    code, out, err = nof(m, "bind", "--dry-run", "--force", "eth1")
    check("a dry run", code == 0 and "echo 0000:03:00.0 > /sys/bus/pci/drivers/e1000e/unbind" in out, out + err)
    check("a dry run changes something", m.driver("0000:03:00.0") == "e1000e")

    code, out, err = nof(m, "bind", "--force", "--hugepages=64", "eth1")
    check("bind", code == 0 and m.driver("0000:03:00.0") == "vfio-pci", out + err)
    check("bind does not say what to type", "nof up --port 0000:03:00.0 -- --ip 10.0.1.1" in out, out)
    pages = m.root / "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
    check("hugepages", pages.read_text().strip() == "32")
    code, out, err = nof(m, "bind", "eth1")
    check("bound twice", code == 0 and "already" in out, out + err)

    m.put("proc/78/comm", "nofd")
    (m.root / "proc/78/fd").mkdir()
    (m.root / "proc/78/fd/9").symlink_to("/dev/vfio/5")
    code, out, err = nof(m, "unbind", "eth1")
    check("unbind under a daemon", code == 1 and "nofd (pid 78) has /dev/vfio/5 open" in err, out + err)
    (m.root / "proc/78/comm").write_bytes(b"a\x1b\xff\n")  # no text, and a terminal would obey it
    code, out, err = nof(m, "unbind", "eth1")
    check("unbind under a process with such a name", code == 1 and "a?? (pid 78) has /dev/vfio/5 open" in err, out + err)
    (m.root / "proc/78/fd/9").unlink()

    m.broken = {"e1000e"}
    m.put("bin/modprobe", "#!/bin/sh\nexit 1")
    (m.root / "bin/modprobe").chmod(0o755)
    code, out, err = nof(m, "unbind", "eth1")
    check("a driver that takes nothing back", code == 1 and "everything is as it was before" in err, out + err)
    check("the device is not where it was", m.driver("0000:03:00.0") == "vfio-pci")
    m.broken = set()

    code, out, err = nof(m, "unbind", "eth1")
    check("unbind", code == 0 and m.driver("0000:03:00.0") == "e1000e", out + err)
    done = (m.root / "ip/done").read_text()
    for line in ("link set dev eth1 up", "address add 10.0.1.1/24 dev eth1", "-4 route replace 10.0.5.0/24 scope link dev eth1",
                 "-4 route replace 10.8.0.0/16 via 10.0.5.9 dev eth1"):
        check(f"'ip {line}' was not done, or too early", line in done, done)
        done = done[done.index(line):]
    done = (m.root / "ip/done").read_text()
    check("routes of the kernel's own are added", "10.0.1.0/24" not in done.replace("add 10.0.1.1/24", ""), done)
    check("hugepages stay", pages.read_text().strip() == "0")
    check("something is remembered", not list(m.root.glob("run/nof/bind/*.json")))

    # a group goes as one
    code, out, err = nof(m, "bind", "eth2", "eth3")
    check("a group", code == 0 and m.driver("0000:04:00.0") == m.driver("0000:04:00.1") == "vfio-pci", out + err)
    code, out, err = nof(m, "unbind", "eth3")
    check("half a group", code == 1 and "0000:04:00.0 is in its IOMMU group" in err, out + err)
    shapes(m)
    code, out, err = nof(m, "unbind", "0000:04:00.0", "eth3")
    check("a group back", code == 0 and m.driver("0000:04:00.1") == "ixgbe", out + err)


def shapes(m):
    # as some who start programs leave it: how one has ended is never told then
    code, out, err = nof(m, "devices", preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    check("devices, where children's ends are ignored", code == 0, out + err)
    code, out, _ = nof(m, "devices")
    check("devices", code == 0 and "vfio-pci (was ixgbe)" in out and "they go together" in out, out)
    code, out, _ = nof(m, "devices", "--json")
    rows = {row["address"]: row for row in json.loads(out)["rows"]}
    check("devices --json", code == 0 and rows["0000:04:00.0"]["was"] == "ixgbe" and rows["0000:04:00.0"]["bound"], out)
    check("a disk is among the NICs", "0000:08:00.0" not in rows)
    try:
        import jsonschema  # pylint: disable=import-outside-toplevel
        jsonschema.validate(json.loads(out), json.loads(SCHEMA.read_text()))
    except ImportError:
        pass


def main():
    with tempfile.TemporaryDirectory() as scratch:
        machine = Machine(pathlib.Path(scratch))
        kernel = threading.Thread(target=machine.run)
        refusals(machine)
        locked(machine)
        late(machine)
        kernel.start()
        try:
            there_and_back(machine)
        finally:
            machine.stopped.set()
            kernel.join()


if __name__ == "__main__":
    main()
