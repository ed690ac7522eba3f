"""A run that was repeated with stacks of the kernel, beside the run that it repeats (schema rtassay/zoom/1)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Final

from rtassay.model.ranking import Ranking

RECORDED: Final = "recorded"
RECORDED_TRACED: Final = "recorded, traced"
ZOOM: Final = "zoom, untraced"
ZOOM_STACKS: Final = "zoom, with stacks"


@dataclass(frozen=True, slots=True)
class RunPart:
    """A part of one of the two runs: `n` samples, `late` of them at or above the level. Latencies in ns, None without samples."""

    name: str
    n: int
    late: int
    p50_ns: int | None
    p99_ns: int | None
    max_ns: int | None


@dataclass(frozen=True, slots=True)
class Zoomed:
    """Two runs under the same conditions. `of`, `id`: the recordings; `above_ns`: the level from which on stacks were kept.

    `differs`: conditions that are not the same, name -> (recorded, zoom). `alike`: whether chance explains how many wake-ups were late in the
    parts without a trace; None without samples. `causes`: of the zoom run, with functions.
    """

    of: str
    id: str
    above_ns: int
    parts: tuple[RunPart, ...]
    differs: dict[str, tuple[str, str]]
    alike: bool | None
    causes: Ranking
    schema: str = field(default="rtassay/zoom/1")

    @property
    def named(self) -> bool:
        """Whether at least one function is known."""
        return any(one.function for share in self.causes.causes for one in share.functions)


def zoomed_dict(zoomed: Zoomed) -> dict[str, Any]:
    """The JSON object, the schema first."""
    data = asdict(zoomed)
    causes = data.pop("causes")
    causes.pop("schema")
    return {"schema": data.pop("schema"), "named": zoomed.named, **data, "causes": causes}
