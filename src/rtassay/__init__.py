"""rtassay: does this board, with this kernel, under this load, meet my deadline, and if not, what broke it?

From Python: `rtassay.run(deadline="100us", duration="10s")`, `rtassay.open("20261121T2030").plot_ccdf()`, `rtassay.compare([a], [b])`, `rtassay.plot("overlay", [a, b])`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rtassay.api import compare, extrapolate, open, plot, rank_causes, run

__version__ = "0.1.0"
__all__ = ["__version__", "compare", "extrapolate", "open", "plot", "rank_causes", "run"]


def __getattr__(name: str) -> Any:
    """The API is imported at its first use: the command line starts without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rtassay import api

    return getattr(api, name)
