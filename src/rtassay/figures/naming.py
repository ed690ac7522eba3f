"""Names of recordings in a figure: what a person called them, else the facts in which they differ."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from rtassay.figures.data import words
from rtassay.model.findings import Findings

UNKNOWN = "unknown"
# Labels of experiments that differ between runs but mean nothing to a reader.
_NUMBERS = ("cell", "plan", "order")


def value(findings: Findings, key: str) -> str | None:
    """A label, or one of kernel, load, board, tool, name, id; None if the recording does not have it."""
    if key in findings.labels:
        return findings.labels[key]
    board = findings.board if findings.board != "imported" else None
    known = {
        "kernel": findings.kernel,
        "load": findings.load if findings.load != UNKNOWN else None,
        "board": board,
        "tool": findings.source["tool"],
        "name": findings.called,
        "id": findings.id,
    }
    found = known.get(key)
    return str(found) if found else None


def keys(findings: Sequence[Findings]) -> list[str]:
    """Keys to group recordings by: kernel, load, board, tool, every label, name and id."""
    labels = dict.fromkeys(key for one in findings for key in one.labels)
    return list(dict.fromkeys(("kernel", "load", "board", "tool", *labels, "name", "id")))


def names(findings: Sequence[Findings]) -> list[str]:
    """A name per recording, all different.

    The names that a person gave, if all have one; of a single import its file; else the first key, or pair of keys, that all have and none shares; else the name or the
    kernel, with the id.
    """
    given = [one.name for one in findings]
    if None not in given and len(set(given)) == len(given):
        return [words(str(name)) for name in given]
    if len(findings) == 1 and findings[0].called is not None:
        return [words(findings[0].called)]
    known = [key for key in keys(findings) if key not in (*_NUMBERS, "id")]
    for chosen in (*((key,) for key in known), *combinations(known, 2)):
        found = [tuple(value(one, key) for key in chosen) for one in findings]
        if all(None not in name for name in found) and len(set(found)) == len(found):
            return [words(", ".join(str(part) for part in name)) for name in found]
    return [words(" ".join(part for part in (one.called or value(one, "kernel"), one.id) if part)) for one in findings]


def groups(findings: Sequence[Findings], key: str | None) -> list[str]:
    """The group of each: the value of `key`; without one the kernel where recordings differ by it, else its name."""
    if key is not None:
        return [words(value(one, key) or f"{key} {UNKNOWN}") for one in findings]
    kernels = [value(one, "kernel") for one in findings]
    if None not in kernels and len(set(kernels)) > 1:
        return [words(str(kernel)) for kernel in kernels]
    return names(findings)


def panels(findings: Sequence[Findings], key: str | None) -> list[str]:
    """The panel of each: `key = value`; without a key one panel for all."""
    return ["" if key is None else words(value(one, key) or f"{key} {UNKNOWN}") for one in findings]
