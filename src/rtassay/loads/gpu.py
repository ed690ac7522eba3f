"""Shared parts of loads for graphics."""

from __future__ import annotations

import re

# Mesa's renderers that draw on the CPU, and SwiftShader.
_SOFTWARE = re.compile(r"\b(?:llvmpipe|lavapipe|softpipe|swrast|SwiftShader|Software Rasterizer)\b", re.IGNORECASE)


def renders_in_software(renderer: str) -> bool:
    """Whether GL_RENDERER, as a program prints it, is a renderer on the CPU (behind virgl: of the host, not of the board)."""
    return not renderer.startswith("virgl") and _SOFTWARE.search(renderer) is not None
