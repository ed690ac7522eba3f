"""kmscube as the load: a turning cube on a display, by OpenGL ES and the kernel's mode setting, without a display server."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rtassay.loads.base import LoadCommand, LoadResult, LoadSpec, Meter, Rate
from rtassay.loads.gpu import renders_in_software
from rtassay.loads.tools import RepeatMeter, repeated, split

# Frames of a round: kmscube writes to a pipe only when it ends.
FRAMES = 120
_BEGINS = "Using display "
_RENDERED = re.compile(r"^Rendered (?P<frames>\d+) frames in (?P<seconds>\d+\.\d+) sec")
_RENDERER = re.compile(r'^\s*renderer: "(?P<name>.*)"\s*$')


class KmscubeLoad:
    """Rounds of 120 frames, each on the screen before the next is drawn. No display server may hold the device.

    `kmscube:ARGS` gives it other arguments. Work is frames; kmscube does not count the first of each round.
    """

    name = "kmscube"
    summary = f"kmscube (OpenGL ES on the display, no display server), rounds of {FRAMES} frames; kmscube:ARGS"

    def needs(self, argument: str | None) -> str | None:
        if argument is not None:
            split(self.name, argument)
        return "kmscube"

    def commands(self, spec: LoadSpec) -> list[LoadCommand]:
        arguments = ["--count", str(FRAMES)] if spec.argument is None else split(self.name, spec.argument)
        argv = [spec.program or "kmscube", *arguments]
        # It takes a readable stdin for a person who wants to end it.
        return [LoadCommand(repeated(spec, argv, hold_stdin=True), ("gpu",))]

    def meter(self, argv: Sequence[str]) -> Meter:
        return _Meter()


class _Meter(RepeatMeter):
    def __init__(self) -> None:
        super().__init__()
        self._round = (0, 0.0)
        self._frames = 0
        self._seconds = 0.0
        self._software: bool | None = None

    def counts_rounds(self) -> bool:
        return False

    def line(self, mono_ns: int, text: str) -> list[Rate]:
        if text.startswith(_BEGINS):
            self._round = (0, 0.0)
        elif found := _RENDERER.match(text):
            self._software = renders_in_software(found["name"])
        elif found := _RENDERED.match(text):
            return self._rendered(mono_ns, int(found["frames"]), float(found["seconds"]))
        return []

    def _rendered(self, mono_ns: int, frames: int, seconds: float) -> list[Rate]:
        """Since the round began, as kmscube counts; the last two lines of a round are the same."""
        more, longer = frames - self._round[0], seconds - self._round[1]
        if more <= 0 or longer <= 0:
            return []
        self._round = frames, seconds
        self._frames += more
        self._seconds += longer
        return [Rate(mono_ns, more / longer, "frames/s")]

    def summary(self) -> LoadResult:
        frames = float(self._frames) or None
        return LoadResult(frames, "frames" if frames else None, self.failure(), software=self._software)
