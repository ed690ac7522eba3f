"""A card of `rtassay image`, made from Debian's packages, comes up in QEMU with its first kernel and takes the login by key (make test-all).

amd64, since its packages are configured without an emulator; U-Boot's part is in test_cards_boot.py, so that QEMU gets kernel and initrd as extlinux.conf names them.
"""

from __future__ import annotations

import json
import socket
import subprocess
import time
from pathlib import Path

import pytest
from cards import ENVIRONMENT, tool
from command_line import in_process

from rtassay.boot.extlinux_menu import default_of

PATIENCE_S = 900.0


def partition(disk: Path) -> str:
    told = subprocess.run(["sfdisk", "--json", disk], capture_output=True, check=True, env=ENVIRONMENT).stdout
    return f"{disk}?offset={json.loads(told)['partitiontable']['partitions'][0]['start'] * 512}"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def told(console: Path) -> str:
    """Its last words; QEMU makes the file a moment after it was started."""
    return console.read_text(errors="replace")[-3000:] if console.exists() else ""


@pytest.mark.full
def test_it_boots_takes_the_key_and_is_quiet(tmp_path: Path) -> None:
    disk, key = tmp_path / "card.img", tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    words = (
        "image",
        "linux-image-amd64",
        "linux-image-rt-amd64",
        "--arch",
        "amd64",
        "-o",
        disk,
        "--key",
        f"{key}.pub",
        "--name",
        "made",
    )
    done = in_process(*words, "--words", "console=ttyS0", "--json", home=tmp_path / "home")
    assert done.returncode == 0, done.stderr
    stock, rt = json.loads(done.stdout)["kernels"]
    first = default_of(tool("debugfs", "-R", "cat /boot/extlinux/extlinux.conf", partition(disk)).decode())
    assert first is not None and first.name == stock
    for name, word in (("kernel", ("linux",)), ("initrd", ("initrd",))):
        tool("debugfs", "-R", f"dump {first.value(word)} {tmp_path / name}", partition(disk))
    port = free_port()
    argv = [
        "setpriv",
        "--pdeathsig",
        "KILL",
        "qemu-system-x86_64",
        "-M",
        "q35",
        "-cpu",
        "max",
        "-accel",
        "tcg,thread=single",
        "-smp",
        "2",
    ]
    argv += ["-m", "1G", "-nodefaults", "-display", "none", "-no-reboot", "-serial", f"file:{tmp_path / 'console'}"]
    argv += [
        "-kernel",
        str(tmp_path / "kernel"),
        "-initrd",
        str(tmp_path / "initrd"),
        "-append",
        str(first.value(("append",))),
    ]
    argv += ["-drive", f"file={disk},format=raw,if=none,id=card", "-device", "virtio-blk-pci,drive=card"]
    argv += [
        "-netdev",
        f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:22",
        "-device",
        "virtio-net-pci,netdev=net,romfile=",
    ]
    ssh = [
        "ssh",
        "-F",
        "none",
        "-i",
        str(key),
        "-p",
        str(port),
        "-o",
        "BatchMode=yes",
        "-o",
        "StrictHostKeyChecking=no",
    ]
    ssh += ["-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=6"]
    ssh += ["-o", f"UserKnownHostsFile={tmp_path / 'known'}", "-o", "ConnectTimeout=20", "root@127.0.0.1"]
    board = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
    try:
        end = time.monotonic() + PATIENCE_S
        while subprocess.run([*ssh, "true"], capture_output=True, check=False).returncode:
            assert time.monotonic() < end and board.poll() is None, told(tmp_path / "console")
            time.sleep(2)

        def said(line: str) -> str:
            return subprocess.run([*ssh, line], capture_output=True, text=True, check=False, timeout=300).stdout.strip()

        assert said("uname -r; hostname").splitlines() == [stock, "made"]
        assert said("cat /proc/swaps | wc -l") == "1" and said("findmnt -no LABEL,FSTYPE /").split() == [
            "rtassay",
            "ext4",
        ]
        assert said("systemctl is-enabled apt-daily.timer fstrim.timer e2scrub_all.timer").split() == ["masked"] * 3
        assert said("systemctl is-active ssh systemd-networkd").split() == ["active"] * 2
        assert all(
            said(f"command -v {program}") for program in ("stress-ng", "cyclictest", "hackbench", "iperf3", "kexec")
        )
        # the other kernel from Linux, as `rtassay kernel use rt` does it
        assert said(
            f"kexec -l /boot/vmlinuz-{rt} --initrd=/boot/initrd.img-{rt} --reuse-cmdline && echo loaded"
        ).endswith("loaded"), told(tmp_path / "console")
        # Nothing of it holds the connection, which does not outlive the kernel.
        said("(sleep 1; systemctl kexec) < /dev/null > /dev/null 2>&1 &")
        end = time.monotonic() + PATIENCE_S
        while said("uname -r") != rt:
            assert time.monotonic() < end and board.poll() is None, told(tmp_path / "console")
            time.sleep(2)
    finally:
        board.kill()
        board.wait()
