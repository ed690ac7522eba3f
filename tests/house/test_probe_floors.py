"""The floors of probe/src: an include leads to its own floor or to a lower one, and is written relative to probe/src."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "probe" / "src"

# floor -> the floors it may include, beside itself
BELOW: dict[str, set[str]] = {
    "os": set(),
    "stream": {"os"},
    "run": {"stream", "os"},
    "carriers": {"run", "stream", "os"},
    "methods": {"carriers", "run", "stream", "os"},
    "guard": {"run", "stream", "os"},
    "sources": {"run", "stream", "os"},
    "follow": {"run", "stream", "os"},
    "commands": {"methods", "carriers", "guard", "sources", "follow", "run", "stream", "os"},
    "main.c": {"commands", "methods", "run", "stream", "os"},
}
FILES = sorted([*SRC.rglob("*.[ch]"), *SRC.rglob("*.def")])


def floor(path: Path) -> str:
    return path.relative_to(SRC).parts[0]


def wrong_includes(path: Path) -> list[str]:
    """The includes of ours that a file must not have."""
    allowed = {floor(path), *BELOW[floor(path)]}
    found = re.findall(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', path.read_text(), re.MULTILINE)
    return [name for name in found if name.split("/")[0] not in allowed or not (SRC / name).is_file()]


def test_every_file_is_on_a_floor() -> None:
    assert len(FILES) > 50
    assert {floor(path) for path in FILES} == set(BELOW)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_includes_lead_down(path: Path) -> None:
    assert not wrong_includes(path), f"{path.relative_to(SRC)} may include {sorted(BELOW[floor(path)])}"


@pytest.mark.parametrize("line", ['#include "commands/command.h"', '# include "../os/say.h"', '#include "say.h"'])
def test_an_include_that_leads_up_or_is_relative_is_found(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("os", "commands"):
        (tmp_path / name).mkdir()
    (tmp_path / "commands" / "command.h").touch()
    (tmp_path / "os" / "say.h").touch()
    (tmp_path / "os" / "rt.c").write_text(f'#include "os/say.h"\n{line}\n')
    monkeypatch.setattr(f"{__name__}.SRC", tmp_path)
    assert len(wrong_includes(tmp_path / "os" / "rt.c")) == 1
