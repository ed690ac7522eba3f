"""Reads and checks an experiment file: names every fault with its path and a likely correction."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec

from rtassay.experiments.schema import Correction, ExperimentFile, Scenario, Settings, places
from rtassay.model.errors import InputFileError, RtassayError, UsageError, both_stated
from rtassay.model.files import read_regular
from rtassay.model.manifest import Plan
from rtassay.model.parsed import toml_table
from rtassay.model.settings import BY_NAME, OF_EXPERIMENT, default, has_priority
from rtassay.model.units import parse_cpu_list, parse_duration_ns
from rtassay.session.prepare import asked_loads
from rtassay.store.disk import explain

_AT = re.compile(r"(?P<what>.*?)(?: - at `(?P<path>\$[^`]*)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<key>.*)`")
_PATTERN = re.compile(r"Expected `str` matching regex ")
_ENUM = re.compile(r"Invalid enum value '?(?P<value>[^']*)'?")
_CHOICES = (
    "abba", "random-blocks", "as-written", "on-change", "each-block", "cell", "combination",
    "board", "kernel", "load", "probe", "scenario", *(word for setting in OF_EXPERIMENT for word in setting.words),
)  # fmt: skip
_IDLE = ("idle", "none")
# Limit of cells in a matrix; a larger number is a typing error.
_CELLS_MOST = 100_000


@dataclass(frozen=True, slots=True)
class Source:
    """An experiment file as read: `text` byte for byte, `given` as written, `file` with the correction applied if asked for."""

    path: Path
    text: bytes
    given: ExperimentFile
    file: ExperimentFile
    corrected: bool


@dataclass(slots=True)
class _Faults:
    """Collects all faults of a file, each with its path, and reports them together."""

    found: list[str] = field(default_factory=list)

    def add(self, path: str, what: str, hint: str | None = None) -> None:
        self.found.append(f"{path}: {what}" + (f" ({hint})" if hint else ""))

    def tried(self, path: str, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except RtassayError as error:
            self.add(path, str(error), error.hint)
            return None


def read(path: Path, *, corrected: bool = False) -> Source:
    """Read and check an experiment file. Raises InputFileError that names every fault with its path."""
    try:
        text = read_regular(path)
    except OSError as error:
        raise InputFileError(f"cannot read {path}", explain(error)) from error
    return parse(text, path, corrected=corrected)


def parse(text: bytes, path: Path, *, corrected: bool = False) -> Source:
    """The same for the bytes of a file; `path` only names it."""
    try:
        raw = toml_table(text.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InputFileError(f"{path} is not TOML", f"byte {error.start} is no UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise InputFileError(f"{path} is not TOML", str(error)) from error
    try:
        given = msgspec.convert(raw, ExperimentFile)
    except msgspec.ValidationError as error:
        raise InputFileError(f"{path} is no experiment", _shape_fault(str(error))) from error
    if corrected and given.corrected is None:
        raise UsageError(f"{path} has no corrected form", "it has no table [corrected]")
    file = _correct(given, given.corrected) if corrected and given.corrected is not None else given
    faults = _Faults()
    _check(given, "$", faults)
    if given.corrected is not None:
        _check(_correct(given, given.corrected), "$.corrected", faults)
    if faults.found:
        unique = list(dict.fromkeys(faults.found))
        raise InputFileError(f"{path} is no experiment", "\n  ".join(unique))
    return Source(path, text, given, file, corrected)


def parse_scale(text: str) -> Fraction:
    """`1/100` or `0.01` as a factor in (0, 1]. Raises UsageError."""
    try:
        factor = Fraction(text)
    except (ValueError, ZeroDivisionError) as error:
        raise UsageError(f"--scale {text} is no factor", hint="write 1/100 or 0.01") from error
    if not 0 < factor <= 1:
        raise UsageError(f"--scale {text} is not above 0 and at most 1")
    return factor


def _shape_fault(message: str) -> str:
    """msgspec's words as `$.path: what (did you mean ...?)`."""
    found = _AT.match(message)
    assert found is not None
    what, path = found["what"], found["path"] or "$"
    if unknown := _UNKNOWN.match(what):
        return f"{path}.{unknown['key']}: no such key{_instead(unknown['key'])}"
    if _PATTERN.match(what):
        return f"{path}: write it with letters, digits and . _ : + - only, a letter or a digit first"
    if enum := _ENUM.match(what):
        return (
            f"{path}: '{enum['value']}' is none of the words that may stand here{_meant(enum['value'], list(_CHOICES))}"
        )
    return f"{path}: {what[0].lower()}{what[1:]}"


def _instead(key: str) -> str:
    known = places()
    if key in known:
        return f" here; it stands in {' or '.join(known[key])}"
    return _meant(key, sorted(known))


def _meant(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f" (did you mean '{close[0]}'?)" if close else ""


def _correct(given: ExperimentFile, correction: Correction) -> ExperimentFile:
    """The file with its correction applied."""
    changes: dict[str, Any] = {}
    for name in Correction.__struct_fields__:
        value = getattr(correction, name)
        if name == "what" or value is None:
            continue
        if name == "settings":
            value = overlay(given.settings, value)
        changes["kernels_given" if name == "kernels" else name] = value
    return msgspec.structs.replace(given, **changes)


def overlay(base: Settings, over: Settings) -> Settings:
    """`base` with every value that `over` states. A duration of `over` replaces a count of `base` and the other way round."""
    stated = {name: value for name in over.__struct_fields__ if (value := getattr(over, name)) is not None}
    if ("duration" in stated) != ("count" in stated):
        base = msgspec.structs.replace(base, duration=None, count=None)
    stated["set"] = base.set | over.set
    return msgspec.structs.replace(base, **stated)


def _check(file: ExperimentFile, at: str, faults: _Faults) -> None:
    """Checks beyond the shape: names exist, times and CPU lists can be read, nothing is stated twice."""
    for key, names in (
        ("boards", file.boards),
        ("kernels", file.kernels),
        ("probes", file.probes),
        ("loads", tuple(load.name for load in file.loads)),
        ("scenarios", tuple(scenario.name for scenario in file.scenarios)),
    ):
        for index, name in enumerate(names):
            if name in names[:index]:
                faults.add(f"{at}.{key}[{index}]", f"'{name}' is there twice")
    for index, load in enumerate(file.loads):
        for probe in load.probes:
            if probe not in file.probes:
                faults.add(f"{at}.loads[{index}].probes", f"'{probe}' is none of the probes of the file")
        # The level becomes the label `load`: any other word there would count as a load started by someone else.
        if not load.run and load.name not in _IDLE:
            faults.add(
                f"{at}.loads[{index}].name", f"'{load.name}' runs nothing", 'name it "idle", or state its loads in run'
            )
        for position, spec in enumerate(load.run):
            _check_load(spec, f"{at}.loads[{index}].run[{position}]", faults)
    for index, scenario in enumerate(file.scenarios):
        _check_scenario(scenario, file, f"{at}.scenarios[{index}]", faults)
    _check_settings(file.settings, f"{at}.settings", faults)
    if file.cool_down is not None:
        _check_time(file.cool_down.at_most, f"{at}.cool_down.at_most", faults)
    if file.acceptance.deadline is not None:
        _check_time(file.acceptance.deadline, f"{at}.acceptance.deadline", faults, least_ns=1)
    faults.tried(f"{at}.acceptance.p", lambda: BY_NAME["p"].check(file.acceptance.p))
    if file.acceptance.at_most is not None:
        faults.tried(f"{at}.acceptance.at_most", lambda: BY_NAME["at-most"].read(file.acceptance.at_most or ""))
        if file.acceptance.p != default("p"):
            faults.add(f"{at}.acceptance", str(both_stated("p", "at_most")), "leave out p")
    if (no_looks := looks_fault(file)) is not None:
        faults.add(f"{at}.acceptance.looks", no_looks)
    cells = len(file.boards) * max(1, len(file.kernels)) * len(file.loads) * len(file.probes) * len(file.scenarios)
    if cells * file.repeats > _CELLS_MOST:
        faults.add(f"{at}.repeats", f"{cells} combinations x {file.repeats} are more than {_CELLS_MOST} cells")


def looks_fault(file: ExperimentFile) -> str | None:
    """Why its looks cannot be planned; None where they can, or none are."""
    looks = file.acceptance.looks
    if looks == 1:
        return None
    if file.acceptance.per != "combination":
        return 'a look judges the repeats of a combination together, which needs per = "combination"'
    if looks > file.repeats:
        return f"{looks} looks need {looks} repeats or more, and there are {file.repeats}"
    return None


def _check_load(spec: str, path: str, faults: _Faults) -> None:
    if spec.partition(":")[0] == "none":
        faults.add(path, "'none' runs nothing", "an idle board is a load whose run is empty: run = []")
    else:
        faults.tried(path, lambda: asked_loads(Plan(loads=(spec,))))


def _check_scenario(scenario: Scenario, file: ExperimentFile, path: str, faults: _Faults) -> None:
    if scenario.cpus is not None and scenario.cpus != "isolated":
        faults.tried(f"{path}.cpus", lambda: parse_cpu_list(scenario.cpus or ""))
    if scenario.load_cpus is not None:
        faults.tried(f"{path}.load_cpus", lambda: parse_cpu_list(scenario.load_cpus or ""))
    _check_settings(overlay(file.settings, scenario.settings), f"{path}.settings", faults)
    if scenario.cyclictest is None:
        return
    if "cyclictest" not in file.probes:
        faults.add(f"{path}.cyclictest", "this line needs the probe cyclictest", 'add "cyclictest" to probes')
    for key in ("cpus", "lanes"):
        if getattr(scenario, key) is not None:
            faults.add(f"{path}.{key}", "the cyclictest line decides that itself", "with -a and -t")
    for key in _stated_in_line(scenario.settings):
        faults.add(
            f"{path}.settings.{key}", "the cyclictest line decides that itself", "only warm_up may be set beside it"
        )


def _stated_in_line(settings: Settings) -> Iterator[str]:
    for name in settings.__struct_fields__:
        if name != "warm_up" and getattr(settings, name) not in (None, {}):
            yield name


def _check_settings(settings: Settings, path: str, faults: _Faults) -> None:
    for setting in OF_EXPERIMENT:
        value = getattr(settings, setting.key)
        if isinstance(value, str):
            faults.tried(f"{path}.{setting.key}", lambda setting=setting, value=value: setting.read(value))  # type: ignore[misc]
    if not has_priority(settings.policy) and settings.priority is not None:
        faults.add(f"{path}.priority", f"policy {settings.policy} has no priority")


def _check_time(text: str, path: str, faults: _Faults, least_ns: int = 0) -> None:
    ns = faults.tried(path, lambda: parse_duration_ns(text))
    if ns is not None and ns < least_ns:
        faults.add(path, f"'{text}' is too short")
