"""glmark2 as the load: OpenGL scenes, one after the other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from rtassay.loads.base import LoadCommand, LoadResult, LoadSpec, Meter, Rate
from rtassay.loads.gpu import renders_in_software
from rtassay.loads.tools import RepeatMeter, repeated, split
from rtassay.model.errors import UsageError
from rtassay.model.manifest import WorkPart

# What the programs are called beside `glmark2`, which draws on an X server.
FLAVOURS = ("drm", "wayland", "es2", "es2-drm", "es2-wayland")
SCENE_S = 1.0
_SCENES = ("build", "texture", "shading", "bump", "effect2d", "pulsar", "desktop", "buffer", "ideas", "jellyfish")
# What glmark2 itself takes where a scene names no duration.
_DEFAULT_S = 10.0
_FPS = re.compile(r"^\[(?P<scene>[a-z0-9-]+)\] (?P<options>.*): FPS: (?P<fps>\d+) FrameTime: ")
_DEAD = re.compile(r"^\[(?P<scene>[a-z0-9-]+)\] .*: (?P<why>Unsupported|Set up failed)\s*$")
_DURATION = re.compile(r"(?:^|:)duration=(?P<seconds>\d+(?:\.\d+)?)")
_RENDERER = re.compile(r"^\s*GL_RENDERER:\s+(?P<name>.+?)\s*$")
_ERROR = re.compile(r"^Error: (?P<text>.+?)\s*$")


class Glmark2Load:
    """Ten scenes of a second each, over and over, drawn off the screen, so that no display limits the frames.

    `glmark2:drm` (without a display server), `glmark2:wayland`, `glmark2:es2` (OpenGL ES) and so on choose the program;
    `glmark2:display=:0` names the X server; both with a comma between them. `glmark2:ARGS` runs glmark2 with other arguments.
    Work is frames: those per second that glmark2 tells of each scene, times the scene's duration. A scene that is cut counts nothing.
    """

    name = "glmark2"
    summary = "glmark2 (OpenGL); glmark2:drm without a display server, glmark2:display=:0, or glmark2:ARGS"

    def needs(self, argument: str | None) -> str | None:
        return _asked(argument).program

    def commands(self, spec: LoadSpec) -> list[LoadCommand]:
        asked = _asked(spec.argument)
        argv = [spec.program or asked.program, *asked.arguments]
        if asked.display is not None:
            argv = ["env", f"DISPLAY={asked.display}", *argv]
        return [LoadCommand(repeated(spec, argv), ("gpu",))]

    def meter(self, argv: Sequence[str]) -> Meter:
        return _Meter()


@dataclass(frozen=True, slots=True)
class _Asked:
    program: str
    arguments: tuple[str, ...]
    display: str | None = None


def _standard() -> tuple[str, ...]:
    scenes = (word for scene in _SCENES for word in ("-b", f"{scene}:duration={SCENE_S}"))
    return ("--off-screen", "--run-forever", *scenes)


def _asked(argument: str | None) -> _Asked:
    if argument is None:
        return _Asked("glmark2", _standard())
    if argument.lstrip().startswith(("-", "'", '"')):
        return _Asked("glmark2", tuple(split("glmark2", argument)))
    program, display = "glmark2", None
    for part in (word.strip() for word in argument.split(",")):
        key, equals, value = part.partition("=")
        if part in FLAVOURS and program == "glmark2":
            program = f"glmark2-{part}"
        elif key == "display" and equals and value and display is None:
            display = value
        else:
            raise UsageError(
                f"glmark2 does not know '{part}'",
                hint=f"known: one of {', '.join(FLAVOURS)}; display=:0; or glmark2:'-b terrain'",
            )
    return _Asked(program, _standard(), display)


@dataclass(slots=True)
class _Scene:
    frames: float = 0.0
    seconds: float = 0.0
    why: str | None = None


@dataclass(slots=True)
class _Seen:
    scenes: dict[str, _Scene] = field(default_factory=dict)
    software: bool | None = None
    error: str | None = None


class _Meter(RepeatMeter):
    def __init__(self) -> None:
        super().__init__()
        self._seen = _Seen()

    def counts_rounds(self) -> bool:
        return False

    def line(self, mono_ns: int, text: str) -> list[Rate]:
        seen = self._seen
        if found := _FPS.match(text):
            duration = _DURATION.search(found["options"])
            seconds = _DEFAULT_S if duration is None else float(duration["seconds"])
            scene = seen.scenes.setdefault(found["scene"], _Scene())
            scene.frames += int(found["fps"]) * seconds
            scene.seconds += seconds
            return [Rate(mono_ns, float(found["fps"]), "frames/s")]
        if found := _DEAD.match(text):
            seen.scenes.setdefault(found["scene"], _Scene()).why = found["why"]
        elif found := _RENDERER.match(text):
            seen.software = renders_in_software(found["name"])
        elif seen.error is None and not self.asked_to_end and (found := _ERROR.match(text)):
            seen.error = found["text"]
        return []

    def summary(self) -> LoadResult:
        seen = self._seen
        error = self.failure()
        if error is not None and seen.error is not None:
            error = seen.error
        parts = tuple(
            WorkPart(name, scene.frames, "frames", scene.seconds or None, skipped=not scene.seconds, why=scene.why)
            for name, scene in seen.scenes.items()
        )
        frames = sum(scene.frames for scene in seen.scenes.values())
        return LoadResult(frames or None, "frames" if frames else None, error, parts, seen.software)
