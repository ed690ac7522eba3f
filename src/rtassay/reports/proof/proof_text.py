"""Words about a campaign of `prove`, for every format."""

from __future__ import annotations

from rtassay.model import ranking as codes
from rtassay.model.findings import state_words
from rtassay.model.foreign import one_line
from rtassay.model.proving import (
    ALONE,
    CANNOT_TELL,
    CONFIRM,
    GROUPS,
    HARMS,
    HELPS,
    MEMBERS,
    NO_EFFECT,
    ONE,
    REDUNDANT,
    TOGETHER,
    UNCHANGED,
    Answer,
    Effect,
    Foretold,
    Judged,
    Proof,
    Side,
    Worth,
)
from rtassay.model.units import format_p, format_rate, format_time, format_us
from rtassay.reports.causes import causes_text

STAGE_WORDS = {
    UNCHANGED: "the board as it is",
    TOGETHER: "all settings against none",
    GROUPS: "all settings but one group",
    MEMBERS: "all settings but one",
    ALONE: "of a group, one setting only",
    CONFIRM: "the settings that are left against none",
    ONE: "the setting against none",
}
# In a sentence that is quoted alone.
_BY = "by a factor of"
CAUSE_COLUMNS = ("setting", "cause that is gone with it", "late without it", "predicted", "measured", "prediction")
_FORETOLD = {
    codes.AGREES: "came true",
    codes.BETTER: "fewer were late",
    codes.WORSE: "more were late",
}
COLUMNS = ("setting", "finding", "factor", "95 %", "on D*", "shown by")


def quantile(proof: Proof) -> str:
    """`p99.99`."""
    return f"p{100 * proof.quantile:.6g}"


def factor(value: float) -> str:
    """A ratio with three digits: 1.43, 12.1; from 100 on in whole numbers."""
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def percent(share: float) -> str:
    """A share of 1 without its sign: 3.4, 34, 340."""
    return f"{100 * share:.2g}" if share < 1 else f"{100 * share:.0f}"


def interval(effect: Effect) -> str:
    return f"{factor(effect.lo)} to {factor(effect.hi)}"


def finding(worth: Worth) -> str:
    """`helps by 1.8`, `no effect above 12 %`, `redundant with x`, `cannot tell (14 more runs)`."""
    return words(worth.word, worth.answer, worth.partners)


def words(word: str, answer: Answer | None, partners: tuple[str, ...] = (), by: str = "by") -> str:
    """See `finding`. A harm is told as the factor by which it makes the latency longer."""
    effect = None if answer is None else answer.effect
    if word == HELPS and effect is not None:
        return f"helps {by} {factor(effect.ratio)}"
    if word == HARMS and effect is not None:
        return f"harms {by} {factor(1 / effect.ratio)}"
    if word == NO_EFFECT and answer is not None and answer.at_most is not None:
        return f"no effect above {percent(answer.at_most)} %"
    if word == REDUNDANT:
        return f"redundant with {', '.join(partners)}"
    if word == CANNOT_TELL and answer is not None and answer.more_runs is not None:
        return f"cannot tell ({answer.more_runs:,} more runs)"
    return "cannot tell (not looked at)" if word == CANNOT_TELL else word


def headline(proof: Proof) -> str:
    """The one sentence that is quoted: of the confirming runs, or why there is none."""
    campaign = proof.campaign
    if campaign.next is not None:
        return f"{proof.name} on {proof.board}: not finished, the next stage is {STAGE_WORDS[campaign.next.name]} ({campaign.next.runs} runs)"
    answer = campaign.confirmed
    if len(campaign.worths) == 1 or answer is None or answer.effect is None:
        about = campaign.worths[0]
        if len(campaign.worths) == 1:
            effect = None if about.answer is None else about.answer.effect
            if about.word == CANNOT_TELL and effect is not None:
                limits = f"; a factor of {interval(effect)} at 95 %"
            else:
                limits = "" if about.answer is None or effect is None else f" ({_limits(about.answer)})"
            return f"{about.id} on {proof.board}: {words(about.word, about.answer, about.partners, _BY)}{limits}"
        together = next((judged.of("all") for judged in campaign.stages if judged.stage.name == TOGETHER), None)
        told = "" if together is None else f"; all settings together: {words(together.word, together, by=_BY)}"
        return f"{proof.name} on {proof.board}: no setting is proven to help{told}"
    count = len(campaign.chosen)
    return f"{proof.name} on {proof.board}: {count} of {len(campaign.worths)} settings together: {words(answer.word, answer, by=_BY)} ({_limits(answer)})"


def _limits(answer: Answer) -> str:
    assert answer.effect is not None
    ratio = answer.effect
    low, high = (1 / ratio.hi, 1 / ratio.lo) if answer.word == HARMS else (ratio.lo, ratio.hi)
    return f"95 %: {factor(low)} to {factor(high)}"


def conditions(proof: Proof) -> str:
    """What was measured, and under what."""
    length = "" if proof.duration_ns is None else f", runs of {format_time(proof.duration_ns)}"
    wanted = "" if proof.deadline_ns is None else f"; deadline {format_time(proof.deadline_ns)}"
    if wanted and proof.per_hour is not None:
        wanted += f", {format_rate(proof.per_hour)}"
    elif wanted and proof.p is not None:
        wanted += f", p {format_p(proof.p)}"
    return (
        f"Kernel {proof.kernel or 'not known'}; load {proof.load}{length}; {len(proof.runs)} runs in turns; a factor is {quantile(proof)} of the worst lane "
        f"without the setting over that with it{wanted}."
    )


def row(worth: Worth) -> tuple[str, ...]:
    """The cells of COLUMNS."""
    effect = None if worth.answer is None else worth.answer.effect
    star = None if worth.answer is None else worth.answer.star
    told = STAGE_WORDS.get(worth.stage.partition("-")[0], "-")
    if effect is None:
        return (worth.id, finding(worth), "-", "-", "-", told)
    return (
        worth.id,
        finding(worth),
        factor(effect.ratio),
        interval(effect),
        "-" if star is None else factor(star.ratio),
        told,
    )


def scatter(judged: Judged) -> str:
    """`runs scatter by 8 % (6 to 15 %); a factor of 1.43 is found in nine of ten`."""
    if judged.sd is None or judged.sd_limits is None:
        return "too few runs to tell how much they scatter"
    low, high = (percent(value) for value in judged.sd_limits)
    text = f"equal runs scatter by {percent(judged.sd)} % ({low} to {high} %)"
    return text if judged.smallest is None else f"{text}; a factor of {factor(judged.smallest)} is found in nine of ten"


def stage_line(judged: Judged) -> str:
    """One stage in a line."""
    about = f" of {judged.stage.what}" if judged.stage.what else ""
    return f"{STAGE_WORDS[judged.stage.name]}{about}: {judged.runs} runs, {scatter(judged)}"


def side(one: Side, per_hour: float | None) -> str:
    """Runs without or with the settings, judged as one."""
    state = "" if one.state is None else f"{state_words(one.state, one.assumes, per_hour)}; "
    star = "no D* demonstrated" if one.star_ns is None else f"D* {format_us(one.star_ns)} us"
    heat = "" if one.temperature_c is None else f", {one.temperature_c:.1f} degC"
    boots = "one boot" if one.boots == 1 else f"{one.boots} boots"
    return f"{state}{star} ({one.runs} runs, {boots}{heat})"


def sides(proof: Proof) -> list[tuple[str, str]]:
    """(title, words) of both sides of the runs that are quoted."""
    found = []
    for one in (proof.before, proof.after):
        if one is not None:
            found.append(
                (
                    "without settings" if not one.settings else f"with {', '.join(one.settings)}",
                    side(one, proof.per_hour),
                )
            )
    return found


def cause_row(told: Foretold) -> tuple[str, ...]:
    """The cells of CAUSE_COLUMNS: late wake-ups of the traced halves, of so many that were due. The prediction is for as many as were due with the setting."""
    found = told.found
    if found is None:
        return (told.id, "none" if told.traced else "no late wake-up was traced", "-", "-", "-", "-")
    share = found.due_after / found.due_before
    return (
        told.id,
        causes_text.name(found.cause),
        f"{found.exceedances_before:,} of {found.due_before:,}",
        f"{found.exceedances_predicted * share:,.0f}",
        f"{found.exceedances_after:,} of {found.due_after:,}",
        _FORETOLD[found.state],
    )


def cost(proof: Proof) -> list[str]:
    """What the settings cost beside latency."""
    found = []
    for one in proof.beside:
        limits = "" if one.lo is None or one.hi is None else f" (95 %: {factor(one.lo)} to {factor(one.hi)})"
        found.append(f"{one.name}: {factor(one.ratio)} of what it was{limits}")
    return found


def doubts(proof: Proof) -> list[str]:
    """What a reader must know before quoting the numbers."""
    found = [
        f"{run.recording} ({run.stage}, {run.arm}) does not count: {run.left_out}" for run in proof.runs if run.left_out
    ]
    campaign = proof.campaign
    if proof.after is not None and proof.after.boots < 2:
        found.append("All runs are of one boot: another boot may differ (--kernel boots the confirming runs afresh).")
    if any(worth.word == CANNOT_TELL and worth.answer is None for worth in campaign.worths) and campaign.next is None:
        found.append(
            "Settings that were not looked at belong to a group without which nothing changed, or to a stage without runs."
        )
    helped = any(judged.stage.name == TOGETHER and judged.answers[0].word == HELPS for judged in campaign.stages)
    if helped and campaign.next is None and not campaign.chosen and len(campaign.worths) > 1:
        found.append("The set helps although no group is missed: settings of different groups do the same work.")
    return [one_line(text, 400) for text in found]
