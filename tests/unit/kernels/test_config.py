"""Configurations: what is joined, what differs, what kconfig did not keep."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtassay.kernels import config
from rtassay.kernels.config import Difference, Fragment
from rtassay.model.errors import InputFileError, UsageError


def test_a_later_fragment_wins_and_the_twins_differ_in_preempt_rt_alone() -> None:
    fragments = [Fragment("a", "CONFIG_HZ=250"), Fragment("b", "CONFIG_HZ=1000\n# CONFIG_SWAP is not set\n")]
    stock, rt = (config.joined("CONFIG_SWAP=y\nCONFIG_X=y", fragments, kind) for kind in (False, True))
    assert config.options(rt) == {
        "SWAP": "n", "X": "y", "HZ": "1000", "EXPERT": "y", "LOCALVERSION_AUTO": "n", "PREEMPT_RT": "y",
    }  # fmt: skip
    assert config.difference(stock, rt) == (Difference("PREEMPT_RT", "n", "y"),)


def test_an_option_that_is_missing_counts_as_not_set() -> None:
    assert config.difference("# CONFIG_A is not set\nCONFIG_B=m\n", "CONFIG_C=y\n") == (
        Difference("B", "m", "n"),
        Difference("C", "n", "y"),
    )


def test_what_kconfig_did_not_keep_is_named() -> None:
    asked = [Fragment("a", "CONFIG_A=y\nCONFIG_B=y\n# CONFIG_C is not set\n"), Fragment("b", "CONFIG_B=m\n")]
    assert config.not_taken(asked, "CONFIG_A=y\nCONFIG_B=y\n") == ("B=m",)


def test_fragments_are_files_options_and_what_a_lab_board_needs(tmp_path: Path) -> None:
    (tmp_path / "mine.config").write_text("CONFIG_A=y\n")
    assert config.fragment_named(str(tmp_path / "mine.config"), "amd64").text == "CONFIG_A=y\n"
    assert config.fragment_named("HZ=1000", "amd64").text == "CONFIG_HZ=1000\n"
    assert config.fragment_named("CONFIG_SWAP=n", "amd64").text == "# CONFIG_SWAP is not set\n"
    x86, arm = (config.options(config.fragment_named("lab", arch).text) for arch in ("amd64", "arm64"))
    assert "SERIAL_8250_CONSOLE" in x86 and "SERIAL_AMBA_PL011_CONSOLE" in arm
    assert x86["BLK_DEV_INITRD"] == arm["BLK_DEV_INITRD"] == x86["MODULES"] == "y"
    with pytest.raises(UsageError, match="no fragment 'nothing'"):
        config.fragment_named("nothing", "amd64")


def test_a_line_that_is_no_option_is_named_with_its_number(tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("CONFIG_A=y\n\n# words\nCONFIG A\n")
    with pytest.raises(InputFileError, match="line 4"):
        config.text_of(tmp_path / "bad")
    with pytest.raises(InputFileError, match="cannot read"):
        config.text_of(tmp_path)
