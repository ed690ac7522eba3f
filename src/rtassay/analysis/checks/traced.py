"""Was the kernel traced while the run was measured that is judged?"""

from __future__ import annotations

from rtassay.analysis.checks.base import INTEGRITY, SYNTHETIC, WARNING, Outcome, check, passed
from rtassay.analysis.checks.context import Context
from rtassay.model.units import NS_PER_S


@check(
    id="TRACED",
    condition="the kernel was traced (--trace-above) and no untraced part can be judged: the stream was cut before it told the parts "
    "apart, or nothing was due before the tracing began",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="Recording the kernel's events lengthens each wake-up, by tens of microseconds on a small board. D* and the exceedances then are those of a "
    "traced board, which nobody runs in the field.",
    remedy="Let a traced run come to its end, or measure once more without --trace-above.",
    proof=SYNTHETIC,
)
def traced(context: Context) -> Outcome:
    """A verdict over samples that were traced."""
    trace = context.manifest.trace
    if trace is None:
        return passed("nothing was traced")
    untraced = [lane.entry.untraced for lane in context.accounts]
    if all(part is not None and part.n > 0 for part in untraced):
        n = min(part.n for part in untraced if part is not None)
        start_ns, until_ns = context.manifest.started_ns, context.manifest.ended_ns
        length = "" if start_ns is None or until_ns is None else f" of {(until_ns - start_ns) / NS_PER_S:.1f} s"
        return passed(f"it is judged by its untraced part{length}; the rest tells the causes", untraced_n=n)
    if trace.from_ns is None:
        return passed("nothing was traced")
    return Outcome(WARNING, "the kernel was traced while this was measured, and no untraced part can be told apart")
