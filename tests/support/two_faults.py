"""Two known faults in one run on the script board, and each of them alone: does D* without one of them come true?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import known_causes
from known_causes import FAULTS, HITS, Fault

from rtassay import rankings, store
from rtassay.lab import quick
from rtassay.lab.arches import arch_named
from rtassay.lab.script import ScriptBoard
from rtassay.model.manifest import Manifest, Plan, Source
from rtassay.model.ranking import Ranking
from rtassay.model.recording import Recording

P = 5e-3
"""A few thousand activations demonstrate it; `HITS` faults are more than it allows."""
_BY_LETTER = {fault.letter: fault for fault in FAULTS}
FIRST = replace(_BY_LETTER["f"], lengths_us=(2000,))
# Its function runs in the interrupt just before the due time, so that the thread, woken before, begins after it: both delay one wake-up.
SECOND = replace(_BY_LETTER["h"], lengths_us=(1000,))
MODULES = ("rtfault", "rtfault2")


@dataclass(frozen=True, slots=True)
class Prediction:
    """D* without `removed` in ns: predicted from the run with both, measured in the run with the other alone. `both_ns`: D* as it is."""

    removed: str
    both_ns: int | None
    predicted_ns: int | None
    measured_ns: int | None

    @property
    def off(self) -> float:
        """How far the prediction is from what was measured, as a share of that."""
        assert self.predicted_ns is not None and self.measured_ns is not None
        return abs(self.predicted_ns - self.measured_ns) / self.measured_ns


def predictions(
    kernel: str, modules: Sequence[bytes], probe: Path, home: Path, *, together: bool
) -> tuple[Prediction, Prediction]:
    """together: both faults delay the same wake-ups; else each its own. Three boots."""

    def ranked(name: str, *faults: tuple[int, Fault]) -> Ranking:
        recording = _measured(kernel, modules, probe, home / name, faults, together=together)
        return rankings.rank([recording], p=P, confidence=0.95)

    first, second = (0, FIRST), (1, SECOND)
    both, only_first, only_second = ranked("both", first, second), ranked("first", first), ranked("second", second)
    return _prediction(both, FIRST, only_second), _prediction(both, SECOND, only_first)


def _prediction(both: Ranking, removed: Fault, alone: Ranking) -> Prediction:
    name = removed.owner.replace("[rtfault]", f"[{MODULES[1]}]")
    (share,) = [one for one in both.causes if (one.cause.kind, one.cause.name) == (removed.causes[0], name)]
    assert share.without is not None
    return Prediction(removed.name, both.demonstrated_ns, share.without.demonstrated_ns, alone.demonstrated_ns)


def _measured(
    kernel: str,
    modules: Sequence[bytes],
    probe: Path,
    home: Path,
    faults: Sequence[tuple[int, Fault]],
    *,
    together: bool,
) -> Recording:
    arch = arch_named("amd64")
    image = quick.cached(arch) or quick.build(arch, print)
    files = {"bin/rtprobe": probe.read_bytes(), **{f"{name}.ko": m for name, m in zip(MODULES, modules, strict=True)}}
    script = _script(kernel, faults, together=together)
    board = ScriptBoard(image.kernels[kernel], image.initramfs.read_bytes(), files, script)
    result = board.run(600)
    assert result.exit_code == 0, result.console[-2000:]
    manifest = Manifest(
        store.new_id(),
        "2026-11-23T12:00:00Z",
        Source("rtprobe", None, "rtw", "counted"),
        Plan(interval_ns=1_000_000, deadline_ns=None, p_target=P),
        inventory={"virtualisation": "tcg", "virtual_time": {"ns_per_instruction": 8, "seed": 1}},
    )
    with store.RecordingWriter.create(home, manifest, "stream.rtw") as writer:
        writer.append(result.stream)
    store.seal(writer.path)
    return store.open_recording(writer.path)


def _script(kernel: str, faults: Sequence[tuple[int, Fault]], *, together: bool) -> str:
    traced_ms = HITS * known_causes.SHORT_PERIOD_NS // 1_000_000 + 3300
    lines = ["set -e; insmod /rtfault.ko; insmod /rtfault2.ko", *known_causes.begun(traced_ms)]
    lines += [known_causes.SOON, known_causes.AFTER_A_TICK]
    for module, fault in faults:
        if module and not together:
            lines.append(f"k=$((k + {known_causes.SHORT_PERIOD_NS // 2_000_000}))")
        lines.append(known_causes.planned(fault, kernel, fault.lengths_us[0], MODULES[module]))
    return "\n".join([*lines, "wait $probe", ""])
