"""Build hook of the wheel: puts the static probes of every architecture in (tools/build-probes). Editable installs need none."""

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
            raise RuntimeError("the static probes could not be built (see above)")
        build_data["artifacts"] += [f"src/rtassay/_bin/rtprobe-{arch}" for arch in tool.known_arches()]
