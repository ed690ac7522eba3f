"""The operating system of a recording, from what its tool tells."""

from __future__ import annotations

import pytest

from rtassay.model.systems import systems


@pytest.mark.parametrize(
    ("release", "tool", "realtime", "names"),
    [
        ("6.1.0-56-rt-amd64", "rtprobe", True, ("linux", "linux-rt")),
        ("6.1.0-56-amd64", "cyclictest", False, ("linux", "linux-stock")),
        ("5.10.35", "cyclictest", None, ("linux",)),
        ("freertos/V11.3.0", "rtprobe-lite", None, ("freertos",)),
        ("nuttx/12.6.0", "rtprobe-lite", None, ("nuttx",)),
        ("linux", "rtprobe-lite", None, ("linux",)),
        ("my-own-build", "cyclictest", None, ()),
        (None, "cyclictest", None, ()),
    ],
)
def test_systems(release: str | None, tool: str, realtime: bool | None, names: tuple[str, ...]) -> None:
    assert systems(release, tool, realtime) == names
