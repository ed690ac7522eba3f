"""The checks of a comparison: `PAIR_CHECKS` (one table), `run_all`, and the reference page made from the table."""

from __future__ import annotations

from typing import Final

from rtassay.analysis.checks.base import Check, reference_page, run_checks
from rtassay.analysis.many.compare.checks import confounds, figures, recordings, replication
from rtassay.analysis.many.compare.checks.pair import Pair
from rtassay.model.findings import CheckResult

PAIR_CHECKS: Final[tuple[Check[Pair], ...]] = (
    recordings.invalid_recording,
    recordings.measure_differs,
    recordings.not_comparable,
    recordings.no_samples,
    recordings.duplicate_result,
    replication.single_run,
    replication.few_runs,
    replication.one_boot,
    replication.boot_lottery,
    confounds.order_confound,
    confounds.ab_confound,
    confounds.temp_confound,
    confounds.lanes_differ,
    figures.missed,
    recordings.weak_recordings,
    recordings.emulated_boards,
    figures.cross_tool,
    figures.not_supported,
    figures.ratio_of_maxima,
    figures.mean_sd_misleads,
)

_HEAD = """# Checks of a comparison

<!-- Generated from the table PAIR_CHECKS in src/rtassay/analysis/many/compare/checks/__init__.py. -->

They run on every `rtassay compare`, beside the [checks of each recording](checks.md), with the same severities. The first
four refuse: nothing is concluded from groups that have no common meaning.
"""


def run_all(pair: Pair) -> tuple[CheckResult, ...]:
    """All checks in the order of the table; each has a result."""
    return run_checks(PAIR_CHECKS, pair)


def reference_markdown() -> str:
    """The text of docs/reference/comparison-checks.md."""
    return reference_page(_HEAD, PAIR_CHECKS, ("severity", "proof"))
