"""A `Value` is a frozen dataclass to everyone who uses one."""

from __future__ import annotations

import copy
import pickle
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import cached_property

import msgspec
import pytest

from rtassay.model.values import Value


class Part(Value):
    name: str
    size_ns: int = 5


class Whole(Value):
    part: Part
    parts: tuple[Part, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)

    @cached_property
    def total_ns(self) -> int:
        return sum(one.size_ns for one in self.parts)


@dataclass(frozen=True)
class PlainWhole:
    part: Part
    parts: tuple[Part, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)


WHOLE = Whole(Part("a"), (Part("b", 2), Part(name="c")), labels={"x": "y"})


def test_dataclasses_takes_it_for_one_of_its_own() -> None:
    assert is_dataclass(Whole) and [one.name for one in fields(Whole)] == ["part", "parts", "labels"]
    assert replace(WHOLE, labels={}) == Whole(Part("a"), (Part("b", 2), Part("c", 5)))
    plain = PlainWhole(WHOLE.part, WHOLE.parts, WHOLE.labels)
    assert (
        asdict(WHOLE)
        == asdict(plain)
        == {
            "part": {"name": "a", "size_ns": 5},
            "parts": ({"name": "b", "size_ns": 2}, {"name": "c", "size_ns": 5}),
            "labels": {"x": "y"},
        }
    )
    assert repr(WHOLE) == repr(plain).replace("PlainWhole", "Whole")


def test_msgspec_writes_and_reads_it() -> None:
    text = msgspec.json.encode(WHOLE)
    assert text == msgspec.json.encode(PlainWhole(WHOLE.part, WHOLE.parts, WHOLE.labels))
    assert msgspec.json.decode(text, type=Whole) == WHOLE
    assert msgspec.json.decode(b'{"part": {"name": "a"}}', type=Whole) == Whole(Part("a"))
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"part": {"name": 1}}', type=Whole)


def test_two_are_equal_by_their_fields_alone() -> None:
    same = Whole(*copy.deepcopy((WHOLE.part, WHOLE.parts, WHOLE.labels)))
    assert same.total_ns == 7 and same == WHOLE
    assert replace(WHOLE, part=Part("b")) != WHOLE and WHOLE != "a" and Part("a") != PlainWhole(Part("a"))
    assert hash(Part("a")) == hash(Part("a", 5)) and len({Part("a"), Part("a"), Part("b")}) == 2
    for other in (copy.copy(WHOLE), copy.deepcopy(WHOLE), pickle.loads(pickle.dumps(WHOLE))):
        assert other == WHOLE and other is not WHOLE


def test_its_defaults_are_not_shared() -> None:
    assert Whole(Part("a")).labels is not Whole(Part("a")).labels


@pytest.mark.parametrize(
    ("given", "named"),
    [((), {}), ((1, 2, 3), {}), (("a",), {"name": "b"}), (("a",), {"length": 1}), ((), {"size_ns": 1})],
)
def test_each_field_is_given_once(given: tuple[object, ...], named: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="Part"):
        Part(*given, **named)


def test_nothing_changes_it() -> None:
    part = Part("a")
    with pytest.raises(AttributeError, match="size_ns of Part is read-only"):
        part.size_ns = 3  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del part.size_ns
    assert part == Part("a", 5)
