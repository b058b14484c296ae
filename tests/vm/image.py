# SPDX-License-Identifier: BSD-3-Clause
"""What a machine boots: Debian's kernel, and an initramfs that mounts this machine's root, read-only, over 9p.

Nothing is installed: the machine has the programs of this one, at their paths, and modules of its own kernel. What it writes lies
in its memory."""
import glob
import gzip
import lzma
import os
import re
import shutil
import subprocess

# To have the root, and a channel for the shell; in this order.
EARLY = ("virtio_pci", "9pnet_virtio", "9p", "virtio_console")
ALL = EARLY + ("virtio_net", "e1000e", "vfio-pci", "vfio_iommu_type1")
XZ, GZIP, ELF = b"\xfd7zXZ\x00", b"\x1f\x8b\x08", b"\x7fELF"


class Missing(Exception):
    """What this machine does not have, and what to type."""


def kernel():
    """(version, path) of the newest kernel of Debian's that is here, with its modules."""
    def number(path):
        return [int(n) for n in re.findall(r"\d+", os.path.basename(path))]
    for path in sorted(glob.glob("/boot/vmlinuz-*"), key=number, reverse=True):
        version = os.path.basename(path).removeprefix("vmlinuz-")
        if os.path.isdir(f"/lib/modules/{version}/kernel") and not absent(version):
            return version, path
    raise Missing("no kernel with modules for 9p, virtio, e1000e and vfio in /boot: apt install linux-image-amd64")


def depends(version, module):
    """The files to load, in order; empty if the kernel does not have that module."""
    shown = subprocess.run(["modprobe", "-S", version, "--show-depends", module], capture_output=True, text=True, check=False,
                           env=os.environ | {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})
    return [line.split()[1] for line in shown.stdout.splitlines() if line.startswith("insmod")] if shown.returncode == 0 else []


def absent(version):
    return [module for module in ALL if not depends(version, module)]


def unpacked(path, out):
    """The kernel's ELF file: QEMU begins it at once, where the packed one takes an emulated CPU many seconds to unpack."""
    with open(path, "rb") as file:
        image = file.read()
    for magic, unpack in ((XZ, lzma.LZMADecompressor), (GZIP, None)):
        at = image.find(magic)
        while at >= 0:
            try:
                elf = unpack().decompress(image[at:]) if unpack else gzip.zlib.decompressobj(31).decompress(image[at:])
            except (lzma.LZMAError, gzip.zlib.error):
                elf = b""
            if elf.startswith(ELF):
                with open(out, "wb") as file:
                    file.write(elf)
                return out
            at = image.find(magic, at + 1)
    return path


def cpio(entries):
    """A "newc" archive of (name, mode, content)."""
    out = bytearray()
    for number, (name, mode, content) in enumerate([*entries, ("TRAILER!!!", 0, b"")], 1):
        encoded = name.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0)
        out += b"070701" + "".join(f"{field:08x}" for field in fields).encode() + encoded
        out += b"\0" * (-len(out) % 4)
        out += content + b"\0" * (-len(content) % 4)
    return bytes(out)


def libraries(program):
    """The shared libraries of a program, and its loader."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(/\S+) \(0x", listed)


def initramfs(version, out, init):
    busybox = shutil.which("busybox") or "/usr/lib/initramfs-tools/bin/busybox"
    if not os.path.exists(busybox):
        raise Missing("busybox is missing: apt install busybox")
    entries = [(name, 0o40755, b"") for name in ("bin", "dev", "lib", "lib64", "lib/x86_64-linux-gnu", "modules", "proc", "root", "sys")]
    with open(busybox, "rb") as file:
        entries.append(("bin/busybox", 0o100755, file.read()))
    for path in libraries(busybox):
        with open(path, "rb") as file:
            entries.append((path.removeprefix("/usr").lstrip("/"), 0o100755, file.read()))
    order = list(dict.fromkeys(path for module in EARLY for path in depends(version, module)))
    for number, path in enumerate(order):
        with open(path, "rb") as file:
            entries.append((f"modules/{number:02}.ko", 0o100644, file.read()))
    with open(init, "rb") as file:
        entries.append(("init", 0o100755, file.read()))
    with open(out, "wb") as file:
        file.write(cpio(entries))
    return out
