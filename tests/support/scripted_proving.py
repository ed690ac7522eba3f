"""A session of prove without a board: what each run measures is made up, its recordings and the campaign on disk are real."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from knob_readings import reading

from rtassay import store
from rtassay.experiments import engine
from rtassay.importers.cyclictest import CyclictestImporter
from rtassay.model.errors import BoardError
from rtassay.model.manifest import Plan
from rtassay.model.tuning import TuningPlan
from rtassay.session import examining, tuning
from rtassay.session.control import RunResult
from rtassay.store.manifests import save_manifest

PLAN = """
for = "isolated=1"
[[write]]
name = "noisy"
file = "/proc/sys/kernel/printk"
value = "1 4 1 7"
[[write]]
name = "idle"
file = "/proc/sys/vm/swappiness"
value = 10
[[write]]
name = "worse"
file = "/proc/sys/vm/stat_interval"
value = 1
"""
ASKED = ("--load", "none", "--duration", "2s", "--interval", "200us", "--deadline", "60us", "--p", "1e-3")


class Session:
    """Stands for session.run.run on a board where `noisy` removes a source of delay and `worse` adds one.

    `fails_at`: the number of the run that ends in an error, from 1.
    """

    def __init__(self) -> None:
        self.held: list[TuningPlan | None] = []
        self.arms: list[str] = []
        self.fails_at: int | None = None
        self._random = np.random.default_rng(5)

    @asynccontextmanager
    async def tuned(self, board: Any, plan: TuningPlan | None, length_ns: int) -> AsyncIterator[None]:
        self.held.append(plan)
        yield

    async def __call__(self, board: Any, plan: Plan, *, home: Path, labels: dict[str, str], **_: Any) -> RunResult:
        self.arms.append(labels["scenario"])
        if len(self.arms) == self.fails_at:
            raise BoardError("the cable was cut")
        applied = set() if plan.tuning is None else set(plan.tuning.ids)
        assert self.held[-1] == plan.tuning
        late_us = (10 if "noisy" in applied else 80) + (15 if "worse" in applied else 0)
        late_us = max(1, round(late_us * math.exp(0.04 * self._random.standard_normal())))
        file = home.with_name(f"{len(self.arms)}.txt")
        file.write_text(
            f"# Histogram\n000005 009800\n{5 + late_us:06d} 000200\n# Total: 000010000\n# Min Latencies: 00005\n"
            f"# Avg Latencies: 00006\n# Max Latencies: {5 + late_us:05d}\n# Histogram Overflows: 00000\n"
        )
        importer = CyclictestImporter()
        made = store.import_events(
            home, file, importer.source(file), importer.read(file), labels=labels, board="local", plan=plan
        )
        manifest = replace(store.load_manifest(made), end_reason="duration", wall_end="2026-11-23T06:00:00Z")
        save_manifest(made, manifest)
        file.unlink()
        return RunResult(made, manifest.id, "duration", False)


def scripted(patch: pytest.MonkeyPatch) -> Session:
    """From now on every run of this process is made by the session that is returned."""
    made = Session()

    async def read(*_: Any) -> Any:
        return reading("lab-rt")

    async def nothing(board: Any) -> None:
        return None

    async def no_links(board: Any) -> tuple[()]:
        return ()

    patch.setattr(examining, "read_twice", read)
    patch.setattr(tuning, "status", nothing)
    patch.setattr(tuning, "links_of", no_links)
    patch.setattr(engine, "run_session", made)
    patch.setattr(engine, "tuned", made.tuned)
    patch.setattr(engine, "_RETRY_PAUSES_S", (0.0,))
    return made
