"""By what a kernel is compiled."""

from __future__ import annotations

import platform

import pytest

from rtassay.kernels.arches import TARGETS
from rtassay.kernels.compiling import Workshop, workshop
from rtassay.model.errors import UsageError


def test_the_configuration_knows_the_compiler_that_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is part of the configuration, and tuxmake gives it a prefix on any machine."""
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    native, foreign = TARGETS["amd64"], TARGETS["arm64"]
    assert Workshop(native, "make", 2, False).variables == ["ARCH=x86_64", "CROSS_COMPILE="]
    assert Workshop(native, "tuxmake", 2, True).variables == [
        "ARCH=x86_64",
        "CROSS_COMPILE=x86_64-linux-gnu-",
        "CC=ccache x86_64-linux-gnu-gcc",
    ]
    assert Workshop(foreign, "make", 2, False).variables == ["ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-"]


def test_without_tuxmake_make_builds_and_tuxmake_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rtassay.kernels.compiling.find_spec", lambda name: None)
    monkeypatch.setattr("rtassay.kernels.compiling.shutil.which", lambda program: f"/usr/bin/{program}")
    assert workshop(TARGETS["amd64"], "auto", 3, True) == Workshop(TARGETS["amd64"], "make", 3, True)
    with pytest.raises(UsageError, match="tuxmake is not installed"):
        workshop(TARGETS["amd64"], "tuxmake", None, True)
