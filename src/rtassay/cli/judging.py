"""Findings of a recording by name: the cached ones if they fit the requirement, else computed now."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rtassay.api import judged
from rtassay.api import parser_for as parser_for
from rtassay.model.findings import Findings
from rtassay.model.manifest import Manifest
from rtassay.model.recording import Recording
from rtassay.model.settings import default

DEFAULT_P: float = default("p")
DEFAULT_CONFIDENCE: float = default("confidence")


@dataclass(frozen=True, slots=True)
class Requirement:
    """The requirement for a judgement; deadline None: figures and checks only. `strict` None: as the run stated.

    `per_hour`: the events an hour that are allowed, in place of `p_target`.

    `waivers` (id of a check -> reason) come on top of the run's own.
    """

    deadline_ns: int | None = None
    p_target: float = DEFAULT_P
    confidence: float = DEFAULT_CONFIDENCE
    strict: bool | None = None
    waivers: dict[str, str] = field(default_factory=dict)
    per_hour: float | None = None


def open_by_name(name: str) -> tuple[Path, Recording]:
    """A recording by path, id, unique beginning of an id, or name, with its tables."""
    from rtassay import store

    path = store.find(name)
    return path, store.open_recording(path, parser_for=parser_for)


def own_requirement(manifest: Manifest) -> Requirement:
    """The requirement that the run itself stated."""
    plan = manifest.plan
    p = DEFAULT_P if plan.p_target is None else plan.p_target
    return Requirement(plan.deadline_ns, p, plan.confidence, per_hour=plan.per_hour)


def with_trust(requirement: Requirement, strict: bool, waivers: dict[str, str]) -> Requirement:
    """The requirement with --strict and --waive of a command line."""
    return replace(requirement, strict=True if strict else None, waivers=waivers)


def judge(recording: Recording, requirement: Requirement) -> Findings:
    """Findings computed now."""
    return judged(
        recording,
        deadline_ns=requirement.deadline_ns,
        p_target=requirement.p_target if requirement.per_hour is None else None,
        per_hour=requirement.per_hour,
        confidence=requirement.confidence,
        strict=requirement.strict,
        waivers=requirement.waivers,
    )


def cached_findings(path: Path) -> dict[str, Any] | None:
    """Findings computed at sealing by this version of the analysis, as show/1 JSON; None: compute them."""
    from rtassay import store
    from rtassay.model.findings import ANALYSIS_VERSION

    data = store.load_findings(path)
    return data if data is not None and data.get("analysis_version") == ANALYSIS_VERSION else None


def findings_from(data: dict[str, Any]) -> Findings:
    """show/1 JSON back to the dataclass that reports take."""
    import msgspec

    return msgspec.convert(data, Findings)
