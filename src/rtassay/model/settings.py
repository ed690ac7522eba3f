"""The settings of a run, each stated once: name, kind, unit, range, default and help.

The options of `rtassay run`, the keys and the schema of an experiment file and the command line of rtprobe are made from these rows.
A test holds the rows and what `rtprobe describe` prints to each other. `model.methods` reads the same shape from `rtprobe describe`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from rtassay.model.errors import UsageError
from rtassay.model.units import (
    NS_PER_MS,
    NS_PER_S,
    NS_PER_US,
    format_cpu_list,
    format_rate,
    parse_cpu_list,
    parse_duration_ns,
    parse_rate_per_h,
)

DURATION, INTEGER, NUMBER, RATE, CHOICE, FLAG, CPUS, TEXT = (
    "duration",
    "integer",
    "number",
    "rate",
    "choice",
    "flag",
    "cpus",
    "text",
)
_H = 3600 * NS_PER_S
# Tolerated shares and rates an hour are 0 or at least this: a million activations a second show 1e-18 after 95,000 years.
RAREST: Final = 1e-18
_NUMBER = re.compile(r"\d+(\.\d+)?")
# What people mean by a number alone, by the unit of cyclictest's letter for the same setting.
_READINGS = {"us": ("us", "ms"), "s": ("s", "min")}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    name: as in `--name`; in an experiment file `-` is `_`. kind: one of the constants above; values are int ns for a duration, events
    per hour for a rate, int, float, str, bool or a tuple of CPU numbers. unit: of an integer or number. bare: unit that cyclictest's letter gives a number alone;
    other durations without a unit are refused.
    least, most: both are allowed, but not `most` of a number. default: None if the setting has none, or if it depends on others.
    words: the values of a choice, or words that may stand in place of a value; `off` is the value None. field: of `Plan`.
    probe: whether rtprobe has an option of the same meaning, then `option` is its name, too. shown: the default in help where words
    say more than the value. filled_in: a plan that does not state it holds None, and the session or the probe fills in the default.
    of_method: the only method of rtprobe that has it; None: all have it. tolerated: a share or rate of late activations that is allowed.
    """

    name: str
    kind: str
    help: str
    unit: str | None = None
    bare: str | None = None
    least: int | float | None = None
    most: int | float | None = None
    default: Any = None
    words: tuple[str, ...] = ()
    field: str = ""
    probe: bool = False
    shown: str | None = None
    filled_in: bool = False
    of_method: str | None = None
    tolerated: bool = False

    @property
    def key(self) -> str:
        """The key in an experiment file."""
        return self.name.replace("-", "_")

    @property
    def option(self) -> str:
        """`--interval`; of a flag that is on by default `--no-mlock`."""
        return f"--no-{self.name}" if self.kind == FLAG and self.default is True else f"--{self.name}"

    @property
    def range_words(self) -> str:
        """`10us to 1h`, `1 to 99`, `fifo, rr, other`; empty without a range."""
        words = ", ".join(self.words)
        if self.least is None or self.most is None:
            return words
        limits = f"{self.text(self.least)} to {self.text(self.most)}"
        return f"{limits}, {words}" if words else limits

    def parse(self, text: str) -> Any:
        """The value of a text as a person types it. Raises UsageError that names the option."""
        return self._named(lambda: self.read(text))

    def check(self, value: Any) -> None:
        """Raise UsageError that names the option for a value outside the range. None, the value of `off`, is always inside."""
        self._named(lambda: self._in_range(value))

    def read(self, text: str) -> Any:
        """The value of a text. Raises UsageError that does not name the option."""
        value = self._value(text.strip())
        self._in_range(value)
        return value

    def _named(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except UsageError as error:
            raise UsageError(f"{self.option}: {error}", hint=error.hint) from error

    def _value(self, text: str) -> Any:
        if text in self.words:
            return None if text == "off" else text
        if self.kind == DURATION:
            if self.bare is not None and _NUMBER.fullmatch(text):
                readings = " or ".join(f"{text}{unit}" for unit in _READINGS[self.bare])
                raise UsageError(f"'{text}' has no unit", hint=f"did you mean {readings}?")
            return parse_duration_ns(text)
        if self.kind == RATE:
            return parse_rate_per_h(text)
        if self.kind == CPUS:
            return parse_cpu_list(text)
        if self.kind == FLAG:
            if text not in ("true", "false"):
                raise UsageError(f"'{text}' is neither true nor false")
            return text == "true"
        if self.kind in (INTEGER, NUMBER):
            try:
                return int(text) if self.kind == INTEGER else float(text)
            except ValueError:
                what = "whole number" if self.kind == INTEGER else "number"
                raise UsageError(f"'{text}' is not a {what}" + (f" of {self.unit}" if self.unit else "")) from None
        return text

    def _in_range(self, value: Any) -> None:
        if self.kind == CHOICE and value not in self.words:
            raise UsageError(f"'{value}' is not one of {', '.join(self.words)}")
        if value is None or isinstance(value, str | bool | tuple):
            return
        if self.tolerated and 0 < value < RAREST:
            raise UsageError(f"no measurement shows {self.text(value)}", hint=f"0, or {RAREST:g} and more")
        low = self.least is not None and value < self.least
        high = self.most is not None and (value >= self.most if self.kind == NUMBER else value > self.most)
        if low or high or value != value:  # a NaN differs from itself
            unit = f" {self.unit}" if self.unit and self.kind != DURATION else ""
            raise UsageError(f"{self.text(value)}{unit} is out of range", hint=f"{self.range_words}{unit}")

    def text(self, value: Any) -> str:
        """The value as `parse` reads it."""
        if value is None:
            return "off"
        if self.kind == DURATION and not isinstance(value, str):
            return exact_time(value)
        if self.kind == RATE:
            return format_rate(value)
        if self.kind == CPUS and not isinstance(value, str):
            return format_cpu_list(value)
        if isinstance(value, bool):
            return "true" if value else "false"
        return f"{value:g}" if isinstance(value, float) else str(value)

    def argv(self, value: Any) -> list[str]:
        """The words of a command line that state this value; a flag at its default needs none."""
        if self.kind == FLAG:
            return [] if value is None or bool(value) == bool(self.default) else [self.option]
        return [self.option, self.text(value)]


def exact_time(ns: int | float) -> str:
    """A duration as a person would write it, exact: `135s`, `997us`, `10us`."""
    if ns == 0:
        return "0s"
    for unit, factor in (("d", 24 * _H), ("h", _H), ("s", NS_PER_S), ("ms", NS_PER_MS), ("us", NS_PER_US)):
        if ns % factor == 0:
            return f"{int(ns) // factor}{unit}"
    return f"{int(ns)}ns"


# In the order of `rtassay run --help`.
SETTINGS: Final = (
    Setting(
        "deadline", DURATION, "Requirement: every activation runs strictly before this latency.",
        bare="us", least=1, most=_H, field="deadline_ns", probe=True,
    ),
    Setting(
        "p", NUMBER, "Tolerated probability that an activation is not done before the deadline.",
        least=0.0, most=1.0, default=1e-6, field="p_target", tolerated=True,
    ),
    Setting(
        "at-most", RATE, "Requirement in late events instead of --p: 0.1/h, 2/d, 1/y. Late activations close together are one event.",
        least=0.0, most=3.6e9, field="per_hour", tolerated=True,
    ),
    Setting(
        "looks", INTEGER, "Judge the run so often, at equal times, and end it at the first look that decides. Each look is judged more "
        "strictly, so that all together have the confidence.",
        least=1, most=20, default=1, field="looks",
    ),
    Setting("confidence", NUMBER, "Confidence of every bound.", least=0.5, most=1.0, default=0.95, field="confidence"),
    Setting(
        "duration", DURATION, "How long to measure.",
        bare="s", least=NS_PER_MS, most=365 * 24 * _H, field="duration_ns", probe=True, shown="60s, without --count",
    ),
    Setting(
        "count", INTEGER, "Samples per lane, instead of or besides a duration.",
        unit="samples", least=1, most=10**12, field="count", probe=True,
    ),
    Setting(
        "interval", DURATION, "Time between activations of a lane.",
        bare="us", least=10 * NS_PER_US, most=_H, default=997 * NS_PER_US, field="interval_ns", probe=True, shown="997us, a prime",
        filled_in=True,
    ),
    Setting(
        "cpus", CPUS, "CPUs to measure, one lane each.", words=("isolated",), field="cpus", probe=True, shown="all allowed",
    ),
    Setting("lanes", INTEGER, "Measure only the first N of those CPUs (cyclictest's -t N).", least=1, most=4096),
    Setting("load-cpus", CPUS, "CPUs the load may use.", field="load_cpus", shown="all allowed"),
    Setting(
        "policy", CHOICE, "Scheduling policy of the lanes. With deadline a lane is not bound to a CPU; --set runtime is what it may take of each interval.",
        words=("fifo", "rr", "other", "deadline"), default="fifo", field="policy", probe=True, filled_in=True,
    ),
    Setting(
        "priority", INTEGER, "Real-time priority of the lanes.",
        least=1, most=99, default=90, field="priority", probe=True, filled_in=True,
    ),
    Setting(
        "sleep", CHOICE, "How a lane sleeps until its due time: clock_nanosleep, a timerfd, a signal of a POSIX timer, the time-out of a poll.",
        words=("clock_nanosleep", "timerfd", "signal", "poll"), default="clock_nanosleep", field="sleep", probe=True, filled_in=True, of_method="cyclic",
    ),
    Setting(
        "clock", CHOICE, "The clock that counts the time of that sleep. Lateness is measured by monotonic whatever it is.",
        words=("monotonic", "realtime", "tai", "boottime"), default="monotonic", field="clock", probe=True, filled_in=True, of_method="cyclic",
    ),
    Setting(
        "warm-up", DURATION, "Run the load this long before measuring.",
        bare="s", least=0, most=24 * _H, default=0, field="warm_up_ns",
    ),
    Setting(
        "break-above", DURATION, "Stop at the first latency above this, and keep the trace where tracefs is writable (exit 1).",
        bare="us", least=1, most=_H, field="break_above_ns", probe=True,
    ),
    Setting(
        "trace-above", DURATION,
        "Keep the kernel's trace around each sample this late. It traces the second half of the run only. auto: the deadline, else 4 x the running p99.9.",
        least=1, most=4 * NS_PER_S, words=("auto",), field="trace_above_ns", probe=True,
    ),
    Setting(
        "trace-stacks", FLAG,
        "With --trace-above: also stacks of the kernel, so that causes get the name of a function (rtassay zoom does it for a recording).",
        default=False, field="trace_stacks", probe=True,
    ),
    Setting(
        "dma-latency", INTEGER, "Hold /dev/cpu_dma_latency at this, or off.",
        unit="us", least=0, most=2_000_000_000, default=0, words=("off",), field="dma_latency_us", probe=True,
        shown="0, as cyclictest",
    ),
    Setting(
        "aligned", FLAG, "All lanes are due at the same moment. Without it they are spread over the interval.",
        default=False, field="aligned", probe=True,
    ),
    Setting("mlock", FLAG, "Do not lock memory.", default=True, field="mlock", probe=True),
    Setting(
        "samples", FLAG, "Keep the exact histogram, rollups and outliers, but not every sample.",
        default=True, field="keep_samples", probe=True,
    ),
)  # fmt: skip
BY_NAME: Final = {setting.name: setting for setting in SETTINGS}
# `duration` has no default of its own: with a count, the count alone ends the run.
DEFAULT_DURATION_NS: Final = 60 * NS_PER_S
# How every cell of an experiment is measured: the keys of [settings]. The others have keys of their own in an experiment file.
OF_EXPERIMENT: Final = tuple(
    BY_NAME[name]
    for name in (
        "interval", "duration", "count", "warm-up", "policy", "priority", "sleep", "clock", "break-above", "trace-above", "dma-latency", "mlock", "aligned", "samples",
    )
)  # fmt: skip


def has_priority(policy: str | None) -> bool:
    """Whether threads of a policy have a real-time priority; None is the default policy."""
    return policy not in ("other", "deadline")


def default(name: str) -> Any:
    """The default of a setting, for example 997_000 ns of `interval`."""
    return BY_NAME[name].default
