"""What `prove` says before it measures: the settings, the stages, how small an effect they show, and how long they take."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rtassay.model.proving import GROUPS, UNCHANGED, Arm, Campaign, Judged, Stage

if TYPE_CHECKING:
    from rtassay.experiments.proving import Setup


def runs_of(setup: Setup) -> tuple[int, int]:
    """(fewest, most) runs of the campaign. Fewest: the set has no effect. Most: every group matters, and one hides which member does."""
    rules, count = setup.rules, len(setup.subjects)
    pair = 4 * rules.pairs
    if count == 1:
        return rules.unchanged + pair, rules.unchanged + pair
    sizes = [sum(one.group == name for one in setup.subjects) for name in {one.group for one in setup.subjects}]
    most = rules.unchanged + 2 * pair
    if len(sizes) > 1:
        most += rules.blocks * (len(sizes) + rules.references)
    members = sum(size for size in sizes if size > 1)
    if members:
        most += rules.blocks * (members + rules.references)
        most += sum(rules.blocks * (size + rules.references) for size in sizes if size > 1)
    return rules.unchanged + pair, most


def planned_dict(setup: Setup) -> dict[str, Any]:
    """The object of `prove --dry-run --json`."""
    from rtassay.experiments.proving import length_ns

    fewest, most = runs_of(setup)
    return {
        "schema": "rtassay/prove-plan/1",
        "name": setup.name,
        "board": setup.board,
        "quantile": setup.quantile,
        "runs": {"fewest": fewest, "most": most},
        "duration_s": {"fewest": length_ns(setup, fewest) / 1e9, "most": length_ns(setup, most) / 1e9},
        "settings": [
            {"id": one.id, "group": one.group, "actions": len(setting.actions), "harm": setting.harm}
            for one, setting in zip(setup.subjects, setup.tuning.settings, strict=True)
        ],
        "argv": list(setup.plan.argv),
    }


def planned_text(setup: Setup) -> str:
    """The same for people."""
    from rtassay.cli.experiment_tables import clock
    from rtassay.experiments.proving import length_ns
    from rtassay.reports import text_table

    fewest, most = runs_of(setup)
    columns = [
        text_table.name("setting"),
        text_table.name("group"),
        text_table.number("changes"),
        text_table.words("harm"),
    ]
    rows = [
        (one.id, one.group, str(len(setting.actions)), setting.harm)
        for one, setting in zip(setup.subjects, setup.tuning.settings, strict=True)
    ]
    lines = text_table.lines(columns, rows)
    lines += [
        "",
        f"{fewest} to {most} runs, {clock(length_ns(setup, fewest))} to {clock(length_ns(setup, most))}; compared at p{100 * setup.quantile:.6g} of the worst lane",
        "nothing was changed",
    ]
    return "\n".join(lines)


def before_stage(setup: Setup, campaign: Campaign) -> str:
    """What the next stage is, and how long it takes; after the unchanged runs also how small an effect the rest can show."""
    from rtassay.cli.experiment_tables import clock
    from rtassay.experiments.proving import length_ns

    stage = campaign.next
    assert stage is not None
    told = f"next: {stage.title}, {stage.runs} runs, about {clock(length_ns(setup, stage.runs))}"
    first = next((judged for judged in campaign.stages if judged.stage.name == UNCHANGED), None)
    if first is None or len(campaign.stages) > 1:
        return told
    return f"{can_show(setup, first)}\n{told}"


def can_show(setup: Setup, unchanged: Judged) -> str:
    """The smallest effect that the campaign can show, with what the unchanged runs leave open, and what the rest costs."""
    from rtassay.analysis.many.prove import power
    from rtassay.cli.experiment_tables import clock
    from rtassay.experiments.proving import length_ns
    from rtassay.reports.proof.proof_text import percent

    if unchanged.sd is None or unchanged.sd_limits is None:
        return "too few of the unchanged runs count: how small an effect can be shown is not known"
    stage = _typical(setup)
    shown = [math.exp(power.of_stage(stage, sd, setup.rules.power)) for sd in (unchanged.sd, *unchanged.sd_limits)]
    low, high = (percent(value) for value in unchanged.sd_limits)
    fewest, most = (clock(length_ns(setup, runs - unchanged.runs)) for runs in runs_of(setup))
    rest = fewest if fewest == most else f"{fewest} to {most}"
    return (
        f"equal runs scatter by {percent(unchanged.sd)} % ({low} to {high} %, as {unchanged.runs} runs tell it): a setting is found in nine of ten "
        f"if it changes the latency by a factor of {shown[0]:.3g} ({shown[1]:.3g} to {shown[2]:.3g}) or more; more --blocks find less\n"
        f"still to come: {rest}; Ctrl-C ends it, and it can be resumed"
    )


def _typical(setup: Setup) -> Stage:
    """The stage of groups, or of the one question."""
    from rtassay.analysis.many.prove.campaign import stage_level

    rules = setup.rules
    if len(setup.subjects) == 1:
        return Stage(GROUPS, (Arm("stock", (), 2), Arm("on", (), 2, "on", "stock")), rules.pairs, rules.level)
    groups = {one.group for one in setup.subjects}
    names = sorted(groups) if len(groups) > 1 else [one.id for one in setup.subjects]
    arms = (Arm("all", (), rules.references), *(Arm(name, (), 1, name, "all") for name in names))
    return Stage(GROUPS, arms, rules.blocks, stage_level(setup.subjects, rules))
