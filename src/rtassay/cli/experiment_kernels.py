"""[kernels.build] of an experiment: its kernels are built here, once, and lie on its boards before the first cell."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rtassay.cli.kernel import resolved, say
from rtassay.model.errors import UsageError

if TYPE_CHECKING:
    from rtassay.experiments.schema import KernelBuild


def built_and_brought(build: KernelBuild, boards: Sequence[str], beside: Path) -> tuple[str, ...]:
    """The releases, in the order of `kinds`, each on every board. `beside`: the directory that paths of the file are relative to.

    Raises UsageError for this machine as a board, and what builds and boards raise.
    """
    from rtassay.kernels.building import Request
    from rtassay.kernels.building import build as build_kernels

    if "local" in boards:
        raise UsageError(
            "an experiment that builds kernels needs a board",
            "this machine's own kernel cannot be switched: rtassay would end with it",
            "boards = [...] or --board",
        )
    request = Request(
        source=_place(build.source, beside),
        arch=build.arch,
        kinds=tuple(kind == "rt" for kind in build.kinds),
        base=_place(build.config, beside),
        fragments=tuple(_place(word, beside) for word in build.fragments),
        ref=build.ref,
        patches=tuple(Path(_place(word, beside)) for word in build.patches),
        container=build.container,
    )
    made = build_kernels(request, say)
    for board in boards:
        asyncio.run(_bring(board, made))
    return tuple(one.manifest.release for one in made)


def _place(word: str, beside: Path) -> str:
    """A path of the file is relative to it; every other word stays."""
    return str(beside / word) if (beside / word).exists() else word


async def _bring(word: str, made: Sequence[Any]) -> None:
    from rtassay.boot.install import install_kernel
    from rtassay.boot.switch import loader_of
    from rtassay.kernels.arches import target_named

    board = resolved(word)
    await board.open()
    try:
        there = {kernel.release for kernel in await (await loader_of(board)).kernels(board)}
        for one in made:
            if one.manifest.release not in there:
                machine = target_named(one.manifest.arch).machine
                await install_kernel(board, one.path, say, machine=machine)
    finally:
        await board.close()
