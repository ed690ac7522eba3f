"""Types of arguments that name something rtassay knows, so that a shell can complete them."""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

_MOST = 50


class _Name(click.ParamType[str]):
    """Any text; a shell is offered the names that are known, or files where a path has begun."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        if "/" in incomplete or incomplete.startswith("."):
            return [CompletionItem(incomplete, type="file")]
        known = [item for item in self.known() if item.value.startswith(incomplete)]
        return known[:_MOST]

    def known(self) -> Iterable[CompletionItem]:
        """Every name, the likeliest first."""
        raise NotImplementedError


class RecordingName(_Name):
    """A path, an id, a unique beginning of an id, or a name."""

    name = "recording"

    def known(self) -> Iterable[CompletionItem]:
        from rtassay import store
        from rtassay.store import index

        for entry in reversed(index.entries(store.home())):
            said = ", ".join(text for text in (entry.board, entry.kernel, entry.load, entry.state) if text)
            yield CompletionItem(entry.id, help=said)
            if called := index.called(entry):
                yield CompletionItem(called, help=said)


class RunningName(RecordingName):
    """A recording, or the board that it is made on."""

    name = "run"

    def known(self) -> Iterable[CompletionItem]:
        from rtassay import store

        for entry in super().known():
            path = store.home() / f"{entry.value}.rta"
            if store.is_running(path):
                yield entry
                yield CompletionItem(store.load_manifest(path).board)


class Condition(_Name):
    """KEY=VALUE of recordings."""

    name = "condition"

    def known(self) -> Iterable[CompletionItem]:
        from rtassay import store
        from rtassay.store import index, selecting

        entries = [entry for entry in index.entries(store.home()) if not entry.error]
        for key, facts in selecting.FACTS.items():
            values = sorted({value for entry in entries for value in facts(entry)})
            yield from (CompletionItem(f"{key}={value}") for value in values)
        labels = sorted({f"{key}={value}" for entry in entries for key, value in entry.labels.items()})
        yield from (CompletionItem(label) for label in labels)


class BoardName(_Name):
    """A board by its name; `local` is this machine."""

    name = "board"

    def known(self) -> Iterable[CompletionItem]:
        from rtassay.boards.known import known_boards

        yield CompletionItem("local", help="this machine")
        yield from (CompletionItem(name, help=board.address) for name, board in sorted(known_boards().items()))


class PresetName(_Name):
    """An experiment: a file, or the name of one that comes with rtassay."""

    name = "experiment"

    def known(self) -> Iterable[CompletionItem]:
        from rtassay.experiments import presets

        yield from (CompletionItem(name) for name in presets.names())


class BuildName(_Name):
    """A kernel that was built here, or a file."""

    name = "kernel"

    def known(self) -> Iterable[CompletionItem]:
        from rtassay.kernels import builds

        for _, manifest in builds.every():
            yield CompletionItem(manifest.release, help=f"{manifest.arch}, {manifest.source}")


RECORDING, RUNNING, CONDITION = RecordingName(), RunningName(), Condition()
BOARD, PRESET, BUILD = BoardName(), PresetName(), BuildName()
