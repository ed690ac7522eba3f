"""Campaigns on simulated boards with fixed seeds: the short form of bench/PROVING.md."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[5] / "tools" / "coverage"))

import campaigns
import proving

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
    Rules,
    Subject,
)

FEW = 40


def test_what_is_promised_in_a_few_campaigns() -> None:
    kept = [case for case in campaigns.cases() if case.board.spread < 0.2 and case.board.noise is proving.normal]
    for case in kept:
        tally = proving.simulate(case.board, case.rules, FEW, 7)
        slack = {column: limit + (0.06 if column == "false" else -0.06) for column, limit in case.promised.items()}
        assert not campaigns.broken(slack, campaigns.shares(tally)), case.board.name


def one_campaign(board: proving.Board, rules: Rules | None = None) -> tuple[proving.Campaign, list[str]]:
    found, done = proving.campaign(board, rules or Rules(), np.random.default_rng(1))
    return found, [judged.stage.title for judged in done]


def test_sources_that_mask_each_other_are_all_found_and_what_harms_is_left_out() -> None:
    board = campaigns.masked("masked", 3, 1.6)
    found, stages = one_campaign(board)
    assert stages == [UNCHANGED, TOGETHER, GROUPS, CONFIRM]
    words = {worth.id: worth.word for worth in found.worths}
    assert [words[f"s{i}"] for i in range(4)] == [HELPS, HELPS, HELPS, HARMS]
    assert found.chosen == ("s0", "s1", "s2") and found.confirmed is not None
    assert found.confirmed.word == HELPS and found.confirmed.effect is not None
    assert found.confirmed.effect.lo < np.exp(board.truth(()) - board.truth(found.chosen)) < found.confirmed.effect.hi


def test_one_switched_on_alone_shows_nothing_of_masked_sources() -> None:
    board = campaigns.masked("masked", 3, 1.6)
    assert board.truth(()) - board.truth(("s0",)) < 0.07


def test_of_a_redundant_pair_each_names_the_other_and_the_first_is_kept() -> None:
    found, stages = one_campaign(campaigns.paired("pair", 2, alone=2))
    assert stages == [UNCHANGED, TOGETHER, GROUPS, MEMBERS, f"{ALONE}-group 0", CONFIRM]
    by_id = {worth.id: worth for worth in found.worths}
    assert (by_id["s0"].word, by_id["s0"].partners) == (REDUNDANT, ("s1",))
    assert (by_id["s1"].word, by_id["s1"].partners) == (REDUNDANT, ("s0",))
    assert by_id["s2"].word == NO_EFFECT and by_id["s2"].answer.at_most < 0.6
    assert found.chosen == ("s0", "s3")


def test_a_set_that_does_nothing_ends_the_campaign_after_twelve_runs() -> None:
    found, stages = one_campaign(proving.Board("nothing", campaigns.EACH))
    assert stages == [UNCHANGED, TOGETHER] and found.ended_at == TOGETHER
    assert {worth.word for worth in found.worths} == {NO_EFFECT} and not found.chosen


def test_one_question_needs_no_confirming_runs() -> None:
    board = proving.Board("one", (Subject("s0", "a"),), ((2.0, ("s0",)),))
    found, stages = one_campaign(board)
    assert stages == [UNCHANGED, ONE] and found.worths[0].word == HELPS
    assert found.chosen == ("s0",) and found.confirmed is found.worths[0].answer


def test_groups_of_one_mechanism_go_to_their_members_at_once() -> None:
    subjects = tuple(Subject(f"s{i}", "power") for i in range(3))
    found, stages = one_campaign(proving.Board("one group", subjects, ((2.5, ("s1",)),)))
    assert stages == [UNCHANGED, TOGETHER, MEMBERS, CONFIRM] and found.chosen == ("s1",)


def test_a_noisy_board_says_how_many_more_runs_it_needs() -> None:
    board = proving.Board("noisy", (Subject("s0", "a"),), ((1.5, ("s0",)),), spread=0.8)
    found, _ = one_campaign(board)
    answer = found.worths[0].answer
    assert answer is not None and answer.word == CANNOT_TELL and answer.more_runs is not None
    assert answer.more_runs > 8 and not found.chosen
