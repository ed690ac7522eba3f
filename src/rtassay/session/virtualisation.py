"""Is the board a real one, and if not, whose guest is it?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

DEVICE_TREE_MODELS: Final = ("/proc/device-tree/model", "/sys/firmware/devicetree/base/model")
_COMPATIBLE = "/sys/firmware/devicetree/base/compatible"
_CLOCKS = "/sys/devices/system/clocksource/clocksource0/available_clocksource"

PATHS: Final = (
    *DEVICE_TREE_MODELS,
    _COMPATIBLE,
    "/sys/class/dmi/id/sys_vendor",
    "/sys/class/dmi/id/product_name",
    "/sys/class/dmi/id/bios_vendor",
    "/sys/hypervisor/type",
)
# Substrings of DMI vendor, product and BIOS names.
_DMI = (
    ("firecracker", "firecracker"),
    ("vmware", "vmware"),
    ("innotek", "virtualbox"),
    ("virtualbox", "virtualbox"),
    ("xen", "xen"),
    ("virtual machine", "hyperv"),
    ("google compute engine", "kvm"),
    ("amazon ec2", "kvm"),
    ("openstack", "kvm"),
    ("kvm", "kvm"),
    ("qemu", "qemu"),
    ("bochs", "qemu"),
)


def detect(files: Mapping[str, bytes]) -> str | None:
    """`none`, or the hypervisor as closely as the board tells (firecracker, kvm, qemu, tcg, xen, vmware, ...; `unknown`: some).

    None: nothing tells, as on an Arm board without a device tree.
    """
    cpuinfo = _text(files, "/proc/cpuinfo")
    if "QEMU TCG" in cpuinfo or re.search(r"^model name\s*:\s*QEMU Virtual CPU", cpuinfo, re.MULTILINE):
        return "tcg"
    if "firecracker" in _text(files, "/proc/cmdline").lower():
        return "firecracker"
    kind = _text(files, "/sys/hypervisor/type")
    if kind:
        return kind
    dmi = " ".join(_text(files, path) for path in PATHS if "/dmi/" in path).lower()
    named = next((name for word, name in _DMI if word in dmi), None)
    guest_clock = "kvm-clock" in _text(files, _CLOCKS)
    if named == "qemu" and guest_clock:
        return "kvm"
    if named:
        return named
    return _by_processor(cpuinfo, guest_clock, _text(files, _COMPATIBLE))


def _by_processor(cpuinfo: str, guest_clock: bool, compatible: str) -> str | None:
    flags = re.search(r"^flags\s*:(.*)$", cpuinfo, re.MULTILINE)
    if guest_clock:
        return "kvm"
    if flags:
        return "unknown" if "hypervisor" in flags[1].split() else "none"
    if "dummy-virt" in compatible or "riscv-virtio" in compatible:
        return "qemu"
    return "none" if compatible else None


def _text(files: Mapping[str, bytes], path: str) -> str:
    return files.get(path, b"").decode(errors="replace").replace("\0", " ").strip()
