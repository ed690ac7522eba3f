"""Build hook of the wheel: adds the static probes of every architecture (tools/build-probes). Editable installs need none.

A wheel without them would fail on the first board, so none is built: the build ends and says what is missing. `pip wheel -v` shows
what goes in; pip alone hides what a build says.
"""

from __future__ import annotations

import importlib.util
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_TOOL = Path(__file__).resolve().parent / "tools" / "build-probes"


class ProbesHook(BuildHookInterface):  # type: ignore[type-arg]
    """Runs before the files of a wheel are collected."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        spec = importlib.util.spec_from_loader("build_probes", SourceFileLoader("build_probes", str(_TOOL)))
        assert spec is not None and spec.loader is not None
        tool = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(tool)
        if tool.main([]):
            raise SystemExit("no wheel was built: the static probes are missing (the reason is above)")
        probes = {arch: tool.INTO / f"rtprobe-{arch}" for arch in tool.known_arches()}
        build_data["artifacts"] += [str(path.relative_to(self.root)) for path in probes.values()]
        sizes = ", ".join(f"{arch} ({path.stat().st_size / 1000:.0f} kB)" for arch, path in probes.items())
        self.app.display_info(f"the wheel holds rtassay {self.metadata.version} with rtprobe for {sizes}")
