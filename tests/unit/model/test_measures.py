"""What the numbers of a lane are: a fixed set of words, and nothing of a source that is not in it."""

from __future__ import annotations

import pytest

from rtassay.model import measures
from rtassay.model.errors import UsageError


def test_every_measure_is_one_and_has_words_of_its_own() -> None:
    assert all(measures.parse_measure(name) == name for name in measures.MEASURES)
    assert len({measures.measure_words(name) for name in measures.MEASURES}) == len(measures.MEASURES)
    assert all(f"`{name}`" in (measures.__doc__ or "") for name in measures.MEASURES)


def test_a_response_names_its_way() -> None:
    assert measures.parse_measure("response:futex") == "response:futex"
    assert measures.measure_words("response:futex") == "response by futex"
    assert measures.measure_words("response:futex-answer") == "answer by futex"


@pytest.mark.parametrize("text", ["", "latency", "response:", "response:A b", "response:" + "x" * 60, "noise\x1b[0m"])
def test_another_word_is_refused_from_a_person_and_unknown_from_a_source(text: str) -> None:
    with pytest.raises(UsageError, match="no measure"):
        measures.parse_measure(text)
    assert measures.told_measure(text) == measures.UNKNOWN


def test_a_source_that_says_something_else_than_text_is_unknown() -> None:
    assert [measures.told_measure(value) for value in (None, 3, ["noise"])] == [measures.UNKNOWN] * 3
    assert measures.told_measure("noise") == measures.NOISE
