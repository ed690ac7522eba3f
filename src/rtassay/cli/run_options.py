"""Turns options of `rtassay run` into values of a request: labels, settings, and the letters of cyclictest."""

from __future__ import annotations

from typing import Any

from rtassay.cli.options import waivers_of
from rtassay.model.errors import UsageError
from rtassay.model.labels import check_labels
from rtassay.model.units import parse_duration_ns


def parse_labels(labels: tuple[str, ...]) -> dict[str, str]:
    """`k=v` pairs. Raises UsageError for one without `=`, with a strange key, or given twice with two values."""
    known: dict[str, str] = {}
    for label in labels:
        key, equals, value = label.partition("=")
        if not equals:
            raise UsageError(f"--label '{label}' is not of the form key=value", hint="write --label ambient=21C")
        check_labels({key: value})
        if known.get(key, value) != value:
            raise UsageError(f"--label {key} is given twice: '{known[key]}' and '{value}'")
        known[key] = value
    return known


def parse_settings(texts: tuple[str, ...]) -> dict[str, str]:
    """`NAME=VALUE` of --set. Raises UsageError for another form, or for a name that is given twice."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise UsageError(
                f"--set '{text}' is not of the form NAME=VALUE", hint="rtassay probe describe lists the names"
            )
        if name in found:
            raise UsageError(f"--set {name} is given twice")
        found[name] = value
    return found


def values_of(options: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `runs.make_request`, from the values of the options (see cli.run). Raises UsageError."""
    labels = parse_labels(options["labels"])
    _check_distance(options["distance"], options)
    return {
        **options,
        "labels": labels,
        "settings": parse_settings(options["settings"]),
        "waivers": waivers_of(options["waive"], options["because"]),
    }


def _check_distance(distance: str | None, options: dict[str, Any]) -> None:
    """We always measure as with -d0. Any other value gives threads different intervals, a known trap of cyclictest."""
    if distance is not None and parse_duration_ns(distance, bare="us") != 0 and (options["lanes"] or 2) > 1:
        raise UsageError(
            f"-d {distance} would give every thread another interval",
            "their samples could not be compared",
            "leave -d out: all lanes run at the same interval, evenly offset (as cyclictest -d0)",
        )
