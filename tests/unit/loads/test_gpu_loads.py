"""Loads for graphics: command lines, and frames out of what the programs print."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from outputs import S, fed

from rtassay.loads.base import LoadSpec
from rtassay.loads.glmark2 import Glmark2Load
from rtassay.loads.gpu import renders_in_software
from rtassay.loads.kmscube import KmscubeLoad
from rtassay.loads.stress_ng import StressNgLoad
from rtassay.loads.tools import inside
from rtassay.model.errors import UsageError

SPEC = LoadSpec(None, (0, 1), 90, None, "/opt/rtprobe", None)

# glmark2 2023.01 (Debian 12) under Xvfb: glmark2 --off-screen -b build:duration=1.0 -b texture -b ideas:speed=duration
GLMARK2 = """\
** GLX does not support GLX_EXT_swap_control or GLX_MESA_swap_control!
** Failed to set swap interval. Results may be bounded above by refresh rate.
=======================================================
    glmark2 2023.01
=======================================================
    OpenGL Information
    GL_VENDOR:      Mesa/X.org
    GL_RENDERER:    llvmpipe (LLVM 15.0.6, 256 bits)
    GL_VERSION:     4.5 (Compatibility Profile) Mesa 22.3.6
    Surface Config: buf=32 r=8 g=8 b=8 a=8 depth=32 stencil=0 samples=0
    Surface Size:   800x600 windowed
=======================================================
[build] duration=1.0: FPS: 713 FrameTime: 1.403 ms
[texture] <default>: FPS: 2309 FrameTime: 0.433 ms
[build] duration=1.0: FPS: 700 FrameTime: 1.429 ms
[ideas] speed=duration: Unsupported
[build] duration=1.0:"""
# kmscube 0.0.0~git20210103 (Debian 12) on virtio-gpu: kmscube --count 10, twice; the extensions are left out.
KMSCUBE = """\
Using display 0x55cf24ef6e30 with EGL version 1.4
===================================
OpenGL ES 2.x information:
  version: "OpenGL ES 3.2 Mesa 22.3.6"
  shading language version: "OpenGL ES GLSL ES 3.20"
  vendor: "Mesa/X.org"
  renderer: "softpipe"
===================================
Using modifier ffffffffffffff
Using modifier ffffffffffffff
Rendered 6 frames in 2.383617 sec (2.517183 fps)
Rendered 9 frames in 4.663589 sec (1.929844 fps)
Rendered 9 frames in 4.663818 sec (1.929750 fps)
Using display 0x55cf24ef6e30 with EGL version 1.4
Rendered 9 frames in 3.000000 sec (3.000000 fps)
"""
# stress-ng 0.15.06 (Debian 12) on virtio-gpu: stress-ng --gpu 1 --timeout 8s --metrics
STRESS_NG = """\
stress-ng: info:  [165] setting to a 8 second run per stressor
stress-ng: info:  [165] dispatching hogs: 1 gpu
KMS: DRM_IOCTL_MODE_CREATE_DUMB failed: Permission denied
stress-ng: info:  [167] gpu: GL_VENDOR: Mesa/X.org
stress-ng: info:  [167] gpu: GL_VERSION: OpenGL ES 3.2 Mesa 22.3.6
stress-ng: info:  [167] gpu: GL_RENDERER: llvmpipe (LLVM 15.0.6, 256 bits)
stress-ng: metrc: [165] gpu                  26      8.06      6.66      1.40         3.23           3.23        99.99        163404
stress-ng: info:  [165] successful run completed in 8.09s
"""


def argv_of(load: object, argument: str | None = None, program: str | None = None) -> list[str]:
    spec = replace(SPEC, argument=argument, program=program)
    (command,) = load.commands(spec)  # type: ignore[attr-defined]
    assert command.classes == ("gpu",)
    return inside(command.argv)


def test_glmark2_counts_frames_of_whole_scenes() -> None:
    result, rates = fed(Glmark2Load().meter(()), GLMARK2)
    assert (result.operations, result.unit, result.software) == (713 + 23090 + 700, "frames", True)
    assert [(part.name, part.operations, part.seconds, part.skipped) for part in result.parts] == [
        ("build", 1413, 2.0, False),
        ("texture", 23090, 10.0, False),
        ("ideas", 0, None, True),
    ]
    assert result.parts[2].why == "Unsupported"
    assert [(rate.value, rate.unit) for rate in rates] == [(713, "frames/s"), (2309, "frames/s"), (700, "frames/s")]


def test_glmark2_without_a_display_says_so() -> None:
    text = "Error: Failed to open X display :99\nError: glmark2: Could not initialize canvas\n"
    result, _ = fed(Glmark2Load().meter(()), text)
    assert (result.operations, result.software, result.error) == (None, None, "Failed to open X display :99")


def test_glmark2_is_told_what_to_run() -> None:
    standard = argv_of(Glmark2Load(), program="/usr/bin/glmark2")
    assert standard[:3] == ["/usr/bin/glmark2", "--off-screen", "--run-forever"]
    assert "build:duration=1.0" in standard
    assert argv_of(Glmark2Load(), "es2-drm", "/bin/x")[0] == "/bin/x"
    assert argv_of(Glmark2Load(), "display=:0,es2")[:3] == ["env", "DISPLAY=:0", "glmark2-es2"]
    assert argv_of(Glmark2Load(), "-b terrain") == ["glmark2", "-b", "terrain"]
    assert [Glmark2Load().needs(argument) for argument in (None, "drm", "display=:1", "-b x")] == [
        *("glmark2", "glmark2-drm", "glmark2", "glmark2"),
    ]
    for wrong in ("vulkan", "drm,es2", "display=", "display", "drm=1", "", "display=:0,display=:1"):
        with pytest.raises(UsageError, match="glmark2 does not know"):
            Glmark2Load().needs(wrong)


def test_kmscube_counts_each_frame_once() -> None:
    result, rates = fed(KmscubeLoad().meter(()), KMSCUBE)
    assert (result.operations, result.unit, result.software) == (18, "frames", True)
    assert [round(rate.value, 3) for rate in rates] == [2.517, round(3 / (4.663589 - 2.383617), 3), 3.0]
    assert [rate.mono_ns // S for rate in rates] == [10, 11, 14]


def test_kmscube_gets_a_stdin_that_does_not_end() -> None:
    (command,) = KmscubeLoad().commands(replace(SPEC, program="/usr/bin/kmscube"))
    assert command.argv[:8] == ("/opt/rtprobe", "repeat", "--cpus", "0-1", "--duration", "90s", "--hold-stdin", "--")
    assert command.argv[8:] == ("/usr/bin/kmscube", "--count", "120")
    assert argv_of(KmscubeLoad(), "--count 5 --vmode 640x480")[1:] == ["--count", "5", "--vmode", "640x480"]


def test_stress_ng_says_who_renders() -> None:
    result, _ = fed(StressNgLoad().meter(()), STRESS_NG)
    assert (result.operations, result.software) == (26, True)
    assert argv_of(StressNgLoad(), "gpu")[-2:] == ["--gpu", "2"]
    assert argv_of(StressNgLoad(), "--gpu 1")[-2:] == ["--gpu", "1"]


@pytest.mark.parametrize(
    ("renderer", "software"),
    [
        ("llvmpipe (LLVM 15.0.6, 256 bits)", True),
        ("softpipe", True),
        ("Software Rasterizer", True),
        ("Mesa Intel(R) UHD Graphics 620 (KBL GT2)", False),
        ("V3D 4.2", False),
        ("virgl (LLVMPIPE (LLVM 15.0.6, 256 bits))", False),
        ("zink (llvmpipe)", True),
        ("Mali-G52 (Panfrost)", False),
    ],
)
def test_renderers_on_the_cpu_are_known(renderer: str, software: bool) -> None:
    assert renders_in_software(renderer) is software
