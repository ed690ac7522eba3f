"""The order of a campaign, from stages whose answers are set by hand: what comes next, and what each setting is worth so far."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rtassay.analysis.many.prove.campaign import decide
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
    Arm,
    Campaign,
    Effect,
    Judged,
    Rules,
    Stage,
    Subject,
    Worth,
)

RULES = Rules(level=0.06, blocks=3, references=5, pairs=7, unchanged=11)
SUBJECTS = tuple(Subject(name, name[0].upper()) for name in ("a1", "a2", "b", "c1", "c2", "c3"))
EVERY = tuple(subject.id for subject in SUBJECTS)
ONE_GROUP = SUBJECTS[:2]


def judged(name: str, what: str = "", p: float | None = 0.5, **words: str) -> Judged:
    """A stage that was measured; `p` None: its answers have no effect."""
    effect = None if p is None else Effect(1.0, 0.5, 2.0, p, p, 5)
    answers = tuple(Answer(asks, word, effect) for asks, word in words.items())
    return Judged(Stage(name, (), 1, 0.0, what), answers, 0, None, None, None)


UNTOUCHED = judged(UNCHANGED)
BETTER = judged(TOGETHER, all=HELPS)


def after(*done: Judged, subjects: Sequence[Subject] = SUBJECTS) -> Campaign:
    return decide(subjects, RULES, done)


def words(found: Campaign) -> dict[str, tuple[str, str]]:
    return {worth.id: (worth.word, worth.stage) for worth in found.worths}


def asks(found: Campaign) -> tuple[str, list[str]]:
    """Title of the next stage, and what it asks about."""
    assert found.next is not None and found.ended_at is None
    return found.next.title, [arm.asks for arm in found.next.arms if arm.against]


def test_a_single_question() -> None:
    subject = (Subject("s", "x"),)
    begin = after(subjects=subject)
    assert begin.next == Stage(UNCHANGED, (Arm("stock", (), 11),), 1, 0.06)
    assert (begin.worths, begin.chosen, begin.confirmed) == ((Worth("s", "x", CANNOT_TELL, None, ONE),), (), None)
    asked = after(UNTOUCHED, subjects=subject)
    arms = (Arm("stock", (), 2), Arm("s", ("s",), 2, "s", "stock", adds=True))
    assert (asked.next, asked.ended_at, asked.stages) == (Stage(ONE, arms, 7, 0.06), None, (UNTOUCHED,))
    for word, chosen in ((HELPS, ("s",)), (HARMS, ()), (NO_EFFECT, ())):
        last = judged(ONE, s=word)
        end = after(UNTOUCHED, last, subjects=subject)
        assert (end.next, end.ended_at, end.chosen, end.confirmed) == (None, ONE, chosen, last.answers[0])
        assert end.worths == (Worth("s", "x", word, last.answers[0], ONE),)


def test_all_settings_are_tried_together_first() -> None:
    assert after().next == Stage(UNCHANGED, (Arm("stock", (), 11),), 1, 0.06)
    found = after(UNTOUCHED)
    arms = (Arm("stock", (), 2), Arm("all", EVERY, 2, "all", "stock", adds=True))
    assert (found.next, found.ended_at, found.chosen) == (Stage(TOGETHER, arms, 7, 0.06), None, ())
    assert set(words(found).values()) == {(CANNOT_TELL, "")} and all(worth.answer is None for worth in found.worths)


def test_a_set_without_effect_ends_there() -> None:
    none = judged(TOGETHER, all=NO_EFFECT)
    found = after(UNTOUCHED, none)
    assert (found.next, found.ended_at, found.chosen, found.confirmed) == (None, TOGETHER, (), None)
    assert found.worths[0] == Worth("a1", "A", NO_EFFECT, none.answers[0], TOGETHER)
    assert set(words(found).values()) == {(NO_EFFECT, TOGETHER)}


@pytest.mark.parametrize("word", [HELPS, HARMS, CANNOT_TELL])
def test_then_groups_are_left_out(word: str) -> None:
    found = after(UNTOUCHED, judged(TOGETHER, all=word))
    arms = (
        Arm("all", EVERY, 5),
        Arm("without A", ("b", "c1", "c2", "c3"), 1, "A", "all"),
        Arm("without B", ("a1", "a2", "c1", "c2", "c3"), 1, "B", "all"),
        Arm("without C", ("a1", "a2", "b"), 1, "C", "all"),
    )
    assert found.next == Stage(GROUPS, arms, 3, pytest.approx(0.02))  # type: ignore[arg-type]
    assert set(words(found).values()) == {(CANNOT_TELL, "")} and found.chosen == ()


def grouped(a: str, b: str, c: str, p: float | None = 0.5) -> tuple[Judged, Judged, Judged]:
    return UNTOUCHED, BETTER, judged(GROUPS, p=p, A=a, B=b, C=c)


def test_members_of_the_groups_that_matter_are_left_out_next() -> None:
    found = after(*grouped(HELPS, HELPS, NO_EFFECT))
    arms = (
        Arm("all", EVERY, 5),
        Arm("without a1", ("a2", "b", "c1", "c2", "c3"), 1, "a1", "all"),
        Arm("without a2", ("a1", "b", "c1", "c2", "c3"), 1, "a2", "all"),
    )
    assert found.next == Stage(MEMBERS, arms, 3, pytest.approx(0.02))  # type: ignore[arg-type]
    assert words(found) == {
        "a1": (CANNOT_TELL, ""), "a2": (CANNOT_TELL, ""), "b": (HELPS, GROUPS),
        "c1": (NO_EFFECT, GROUPS), "c2": (NO_EFFECT, GROUPS), "c3": (NO_EFFECT, GROUPS),
    }  # fmt: skip
    assert found.chosen == ("b",)


@pytest.mark.parametrize(
    ("a", "c", "p", "asked"),
    [
        (HARMS, NO_EFFECT, 0.5, ["a1", "a2"]),
        (NO_EFFECT, HELPS, 0.5, ["c1", "c2", "c3"]),
        (NO_EFFECT, NO_EFFECT, 0.09, ["a1", "a2", "c1", "c2", "c3"]),
        (CANNOT_TELL, HELPS, None, ["c1", "c2", "c3"]),
    ],
)
def test_which_groups_matter(a: str, c: str, p: float | None, asked: list[str]) -> None:
    assert asks(after(*grouped(a, HELPS, c, p))) == (MEMBERS, asked)


@pytest.mark.parametrize("p", [0.1, 0.5, None])
def test_where_no_group_matters_nothing_is_left(p: float | None) -> None:
    found = after(*grouped(CANNOT_TELL, NO_EFFECT, NO_EFFECT, p))
    assert (found.next, found.ended_at, found.chosen) == (None, MEMBERS, ())
    assert words(found)["a1"] == (CANNOT_TELL, GROUPS)


def test_a_group_of_one_setting_is_confirmed_at_once() -> None:
    found = after(*grouped(NO_EFFECT, HELPS, NO_EFFECT))
    arms = (Arm("stock", (), 2), Arm("chosen", ("b",), 2, "chosen", "stock", adds=True))
    assert (found.next, found.chosen, found.confirmed) == (Stage(CONFIRM, arms, 7, 0.06), ("b",), None)
    last = judged(CONFIRM, chosen=HELPS)
    end = after(*grouped(NO_EFFECT, HELPS, NO_EFFECT), last)
    assert (end.next, end.ended_at, end.confirmed, end.chosen) == (None, CONFIRM, last.answers[0], ("b",))


def test_a_member_that_is_missed_is_kept() -> None:
    done = (*grouped(HELPS, NO_EFFECT, NO_EFFECT), judged(MEMBERS, a1=HELPS, a2=NO_EFFECT))
    found = after(*done)
    assert asks(found) == (CONFIRM, ["chosen"]) and found.chosen == ("a1",)
    assert words(found)["a1"] == (HELPS, MEMBERS) and words(found)["a2"] == (NO_EFFECT, MEMBERS)


def test_members_of_a_group_that_harms_are_not_tried_alone() -> None:
    done = (*grouped(HARMS, HELPS, NO_EFFECT), judged(MEMBERS, a1=NO_EFFECT, a2=NO_EFFECT))
    assert asks(after(*done)) == (CONFIRM, ["chosen"]) and after(*done).chosen == ("b",)


INSIDE = (*grouped(HELPS, HELPS, NO_EFFECT), judged(MEMBERS, a1=NO_EFFECT, a2=CANNOT_TELL))


def test_members_of_which_none_is_missed_are_tried_alone() -> None:
    arms = (
        Arm("without A", ("b", "c1", "c2", "c3"), 5),
        Arm("only a1 of A", ("a1", "b", "c1", "c2", "c3"), 1, "a1", "without A", adds=True),
        Arm("only a2 of A", ("a2", "b", "c1", "c2", "c3"), 1, "a2", "without A", adds=True),
    )
    assert after(*INSIDE).next == Stage(ALONE, arms, 3, pytest.approx(0.02), "A")  # type: ignore[arg-type]


def test_of_those_that_do_the_same_the_first_is_kept() -> None:
    alone = judged(ALONE, "A", a1=HELPS, a2=HELPS)
    found = after(*INSIDE, alone)
    assert found.worths[:2] == (
        Worth("a1", "A", REDUNDANT, alone.answers[0], "alone-A", ("a2",)),
        Worth("a2", "A", REDUNDANT, alone.answers[1], "alone-A", ("a1",)),
    )
    assert found.chosen == ("a1", "b") and asks(found) == (CONFIRM, ["chosen"])
    assert found.next is not None and found.next.arms[1].applied == ("a1", "b")
    three = (
        *grouped(NO_EFFECT, NO_EFFECT, HELPS),
        judged(MEMBERS, c1=NO_EFFECT, c2=NO_EFFECT, c3=NO_EFFECT),
        judged(ALONE, "C", c1=NO_EFFECT, c2=HELPS, c3=HELPS),
    )
    found = after(*three)
    assert found.chosen == ("c2",) and found.worths[4].partners == ("c3",)
    assert words(found)["c1"] == (NO_EFFECT, "alone-C")


def test_the_only_one_that_helps_alone_helps() -> None:
    found = after(*INSIDE, judged(ALONE, "A", a1=NO_EFFECT, a2=HELPS))
    assert words(found)["a1"] == (NO_EFFECT, "alone-A") and words(found)["a2"] == (HELPS, "alone-A")
    assert found.chosen == ("a2", "b") and found.worths[1].partners == ()


def test_what_harms_beside_the_others_is_not_kept_for_helping_alone() -> None:
    done = (*grouped(HELPS, NO_EFFECT, NO_EFFECT), judged(MEMBERS, a1=HARMS, a2=NO_EFFECT))
    assert asks(after(*done)) == ("alone-A", ["a1", "a2"])
    found = after(*done, judged(ALONE, "A", a1=HELPS, a2=NO_EFFECT))
    assert words(found)["a1"] == (HARMS, MEMBERS) and found.chosen == () and found.ended_at == MEMBERS


def test_each_group_that_is_redundant_inside_has_a_stage_of_its_own() -> None:
    done = (
        *grouped(HELPS, NO_EFFECT, HELPS),
        judged(MEMBERS, a1=NO_EFFECT, a2=NO_EFFECT, c1=NO_EFFECT, c2=NO_EFFECT, c3=NO_EFFECT),
    )
    assert asks(after(*done)) == ("alone-A", ["a1", "a2"])
    first = judged(ALONE, "A", a1=HELPS, a2=NO_EFFECT)
    assert asks(after(*done, first)) == ("alone-C", ["c1", "c2", "c3"])
    second = judged(ALONE, "C", c1=HELPS, c2=HELPS, c3=HELPS)
    assert after(*done, first, second).chosen == ("a1", "c1")


def test_a_single_group_goes_to_its_members_at_once() -> None:
    found = after(UNTOUCHED, BETTER, subjects=ONE_GROUP)
    assert asks(found) == (MEMBERS, ["a1", "a2"]) and found.next is not None
    assert found.next.level == pytest.approx(0.02)
    assert set(words(found).values()) == {(CANNOT_TELL, "")}
    unsure = after(UNTOUCHED, judged(TOGETHER, all=CANNOT_TELL), subjects=ONE_GROUP)
    assert (unsure.next, unsure.ended_at) == (None, MEMBERS)
    none = (UNTOUCHED, BETTER, judged(MEMBERS, a1=NO_EFFECT, a2=NO_EFFECT))
    assert asks(after(*none, subjects=ONE_GROUP)) == ("alone-A", ["a1", "a2"])
    kept = after(UNTOUCHED, BETTER, judged(MEMBERS, a1=HELPS, a2=NO_EFFECT), subjects=ONE_GROUP)
    assert kept.chosen == ("a1",) and asks(kept) == (CONFIRM, ["chosen"])


def test_groups_of_one_setting_each_have_the_whole_level() -> None:
    found = after(UNTOUCHED, BETTER, subjects=(Subject("a", "A"), Subject("b", "B")))
    assert asks(found) == (GROUPS, ["A", "B"]) and found.next is not None and found.next.level == 0.06
    end = after(UNTOUCHED, BETTER, judged(GROUPS, A=HARMS, B=HELPS), subjects=(Subject("a", "A"), Subject("b", "B")))
    assert end.chosen == ("b",) and words(end) == {"a": (HARMS, GROUPS), "b": (HELPS, GROUPS)}
