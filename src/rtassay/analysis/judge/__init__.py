"""One recording to findings: its lanes, its checks, its verdict.

numpy and scipy.special are loaded at the first judgement, not at import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rtassay.model.findings import ANALYSIS_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rtassay.model.findings import Findings, Sealed
    from rtassay.model.recording import Recording

__all__ = ["ANALYSIS_VERSION", "findings_dict", "judge"]


def judge(
    recording: Recording,
    *,
    deadline_ns: int | None = None,
    p_target: float | None = None,
    confidence: float | None = None,
    strict: bool | None = None,
    waivers: Mapping[str, str] | None = None,
    per_hour: float | None = None,
    sealed: Sealed | None = None,
) -> Findings:
    """Everything rtassay can say about one recording (`model.findings.Findings`).

    Without `deadline_ns` the run's own requirement is judged (its deadline, p and confidence); if it had none the verdict is None.
    With it, `p_target` defaults to 1e-6 and `confidence` to 0.95. `strict` (None: as the run was asked for) makes warnings invalid.
    `per_hour`: at most so many late events an hour are required, in place of `p_target`. `sealed`: what sealing computed of this
    recording, which is then not computed again.
    `waivers` (id of a check -> why it does not decide) come on top of the run's own. Raises UsageError for values out of range,
    unknown checks and checks that cannot be waived.
    """
    from rtassay.analysis.judge.judging import judge as run

    return run(
        recording,
        deadline_ns=deadline_ns,
        p_target=p_target,
        confidence=confidence,
        strict=strict,
        waivers=waivers,
        per_hour=per_hour,
        sealed=sealed,
    )


def findings_dict(findings: Findings) -> dict[str, Any]:
    """The object `rtassay show --json` prints (schema rtassay/show/1): plain dicts, lists, ints, finite floats, None."""
    from rtassay.analysis.judge.plain import findings_dict as convert

    return convert(findings)
