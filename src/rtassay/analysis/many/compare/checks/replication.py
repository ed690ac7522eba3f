"""Are there enough runs and boots to tell a difference of the groups from one of runs?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rtassay.analysis.checks.base import INTEGRITY, NOTE, RECORDED, SYNTHETIC, WARNING, Outcome, check, passed, unknown
from rtassay.analysis.many.compare import inference, variance
from rtassay.analysis.many.compare.checks.pair import Pair, plural

FEW = 5


@check(
    id="SINGLE-RUN",
    condition="a group has one run",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="The intervals then come from within the runs: they hold if nothing but chance differs between two runs of a kind, which is never so.",
    remedy="Repeat both groups.",
    proof=RECORDED,
)
def single_run(pair: Pair) -> Outcome:
    """One run of a kind: nothing tells how much two of its kind differ."""
    single = [name for name, runs in pair.sides if len(runs) == 1]
    if not single:
        return passed("both groups hold several runs")
    text = (
        f"one run of {' and of '.join(single)}: how much runs of one kind differ among themselves is not known, so the intervals tell "
        "these runs apart, not what they stand for"
    )
    return Outcome(WARNING, text, {"groups": single})


@check(
    id="FEW-RUNS",
    condition=f"a group has fewer than {FEW} runs",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="The run is the unit of replication: 1e8 samples of one boot are one observation of the kernel. Three runs a group can never reach p = 0.05.",
    remedy="Repeat both groups, interleaved (rtassay experiment).",
    proof=SYNTHETIC,
)
def few_runs(pair: Pair) -> Outcome:
    """Too few runs to tell a difference of kernels from one of runs."""
    ra, rb = len(pair.a), len(pair.b)
    smallest, needed = inference.smallest_p(ra, rb), inference.runs_needed(inference.ENOUGH_P)
    facts = {"a_runs": ra, "b_runs": rb, "smallest_p": smallest, "needed_per_group": needed}
    if min(ra, rb) >= FEW:
        return passed(f"{ra} and {rb} runs; the smallest p an exchange of runs can give is {smallest:.2g}", **facts)
    test = f"no permutation test: it needs {needed} runs of each to reach p = {inference.ENOUGH_P:g}"
    if smallest <= inference.ENOUGH_P:
        test = f"the smallest p an exchange of runs can give is {smallest:.2g}"
    return Outcome(
        WARNING,
        f"A has {plural(ra, 'run')}, B {plural(rb, 'run')}: {test}; {FEW} of each are the least for a sound answer",
        facts,
    )


@check(
    id="ONE-BOOT",
    condition="all runs of a group are of one boot",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="Maxima of the same test differ by a factor of two between boots.",
    remedy="Reboot between runs.",
    proof=SYNTHETIC,
)
def one_boot(pair: Pair) -> Outcome:
    """All runs of a group in one boot: what a boot decides by chance is the same for all of them."""
    facts: dict[str, Any] = {}
    single, blind = [], []
    for name, runs in pair.sides:
        boots = {run.boot for run in runs}
        facts[f"{name.lower()}_boots"] = None if None in boots else len(boots)
        if len(runs) == 1:
            single.append(name)
        elif None in boots:
            blind.append(name)
        elif len(boots) == 1:
            single.append(name)
    if single:
        both = " and ".join(single)
        text = f"all runs of {both} are of one boot{' each' if len(single) > 1 else ''}: what a boot decides by chance (addresses, order of drivers) is not averaged out"
        lone = all(len(runs) == 1 for name, runs in pair.sides if name in single)
        return Outcome(NOTE if lone else WARNING, text, facts)
    if blind:
        return unknown(f"which boot the runs of {' and '.join(blind)} are of is not known", **facts)
    return passed("each group spans several boots", **facts)


@check(
    id="BOOT-LOTTERY",
    condition=f"boots hold more than {variance.LOTTERY:.0%} of the variance of a group's runs at its highest supported quantile (a note while 0 % is not excluded)",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="Addresses, page colours and the order of drivers are drawn anew at each boot. Runs of one boot are then near copies of each other: "
    "intervals that count runs are too narrow.",
    remedy="More boots, not longer runs nor more runs a boot.",
    proof=SYNTHETIC,
)
def boot_lottery(pair: Pair) -> Outcome:
    """Boots of one group differ more than their runs explain: what a boot draws decides."""
    rows = {group.name: group.boot_variance[-1] for group in pair.groups if group.boot_variance}
    facts = {group.name.lower(): [asdict(row) for row in group.boot_variance] for group in pair.groups}
    if not rows:
        return unknown(f"it takes {variance.LEAST} boots with {variance.LEAST} runs each to tell boots from runs")
    name, worst = max(rows.items(), key=lambda item: item[1].icc)
    text = (
        f"at p{worst.q * 100:.7g} {worst.icc:.0%} [{worst.lo:.0%}, {worst.hi:.0%}] of the variance of the runs of {name} is that of "
        f"its {worst.boots} boots (sd of ln {worst.between_sd:.3f} between boots, {worst.within_sd:.3f} within)"
    )
    if worst.icc <= variance.LOTTERY:
        return passed(text, **facts)
    if worst.lo > 0:
        return Outcome(WARNING, f"boot lottery: {text}; more boots are needed, not longer runs", facts)
    return Outcome(NOTE, f"{text}: perhaps a boot lottery; more boots would tell", facts)
