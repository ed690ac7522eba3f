"""A report or export format. To add one: a file in `recording/`, `comparison/`, `experiment/`, `extrapolation/`, `causes/`, `examination/`, `explanation/`, `gate/`, `proof/` or `throughput/`, and a line in `__init__.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from rtassay.model.findings import Findings
    from rtassay.model.published import Against
    from rtassay.model.ranking import Ranking
    from rtassay.model.recording import Recording

Subject = TypeVar("Subject", contravariant=True)


@dataclass(frozen=True, slots=True)
class JudgedRecording:
    """The subject of a report about one recording: its findings, its data, published results to show beside it, and the causes of a traced run."""

    findings: Findings
    recording: Recording
    published: Against | None = None
    causes: Ranking | None = None


class Report(Protocol[Subject]):
    """One subject to bytes. Write no file, read no clock, print nothing, so that the same subject gives the same bytes.

    The subject is a `JudgedRecording`, a `model.comparison.Comparison`, a `model.experiment.ExperimentReport`, a
    `model.extrapolation.Extrapolation`, a `model.ranking.Ranking`, a
    `model.knobs.Examination`, a `model.explanation.Explanation`, a `model.gate.Gate`, a
    `model.proving.Proof` or a `model.throughput.Throughput`. The class is made without arguments.

    name: `SUBJECT.FORMAT`, as in the table, for example `recording.html`. suffix: of a file of this format, with its dot. Of two
    formats with one suffix, the first in the table is the one that `-o FILE` chooses. summary: one line for lists of formats.
    """

    name: str
    suffix: str
    summary: str

    def render(self, subject: Subject) -> bytes:
        """The report as UTF-8 that ends with a newline. Raises nothing for any subject that analysis can make."""
        ...
