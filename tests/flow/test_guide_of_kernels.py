"""docs/guides/kernels.md: its commands that need no board, in their order, on a source that is built in a second and on a small card.

The others: boards in tests/lab/test_kernels_built_here.py, the container there too, cards of `rtassay image` in tests/unit/kernels/cards/test_making.py.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import cards
import pytest
from command_line import in_process
from small_kernel import small_kernel

from rtassay.experiments import files

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "kernels.md"
OLD = "6.1.0-1-amd64"
EXTLINUX = (
    f"default l0\nlabel l0\n\tlinux /boot/vmlinuz-{OLD}\n\tinitrd /boot/initrd.img-{OLD}\n\tappend root=LABEL=card\n"
)
ELSEWHERE = re.compile(r"\bpi\b|/dev/sdb|--container|^rtassay (image|run|board|experiment)")


def commands() -> list[list[str]]:
    blocks = re.findall(r"^```\n(.*?)^```", PAGE.read_text(), re.S | re.M)
    return [shlex.split(line) for block in blocks for line in block.splitlines() if line.startswith("rtassay ")]


def test_its_experiment_file_is_one() -> None:
    (text,) = re.findall(r"^```toml\n(.*?)^```", PAGE.read_text(), re.S | re.M)
    file = files.parse(text.encode(), PAGE).file
    assert file.build is not None and file.kernels == ("stock", "rt") and file.reboot == "each-block"


def test_the_commands_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    makefile = small_kernel(tmp_path / "linux-source-6.12") / "Makefile"
    options = "".join(f" && echo CONFIG_{name}=y >> $O/.config" for name in ("BLK_DEV_INITRD", "RD_GZIP", "EXT4_FS"))
    text = makefile.read_text().replace(
        "echo CONFIG_MODULES=y > $O/.config", f"echo CONFIG_MODULES=y > $O/.config{options}"
    )
    (tmp_path / "module").write_bytes(cards.relocatable("a"))
    makefile.write_text(re.sub(r"&& echo m > (\S+)", rf"&& cp {tmp_path}/module \1", text))
    root = {f"boot/vmlinuz-{OLD}": cards.image("amd64"), f"boot/initrd.img-{OLD}": cards.initrd(OLD, "a")}
    cards.card(tmp_path / "sdcard.img", {**root, "boot/extlinux/extlinux.conf": EXTLINUX.encode()})
    done = []
    for words in commands():
        if ELSEWHERE.search(" ".join(words)):
            continue
        # The stand-in is no arm64 and has a version of its own.
        words = [word.replace("6.12.117", "6.66.6").replace("arm64", "amd64") for word in words[1:]]
        more = ["--with", "make", "--no-ccache"] if words[1] == "build" else []
        told = in_process(*words, *more, home=tmp_path / "home")
        assert told.returncode == 0 and told.stdout, (words, told.stderr)
        done.append(words[1])
    assert done == ["build", "list", "deploy"]
    conf = cards.ext_file(tmp_path / "sdcard.img", "/boot/extlinux/extlinux.conf").decode()
    assert conf.startswith(EXTLINUX) and "label rtassay-6.66.6-rt-" in conf
