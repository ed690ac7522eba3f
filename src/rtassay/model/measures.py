"""What the numbers of a lane are. Lanes of unlike measures are never compared and never pooled.

| measure | a number is the time |
| --- | --- |
| `wake-up` | from the moment a timer was due until the thread that waited for it runs |
| `application-wake-up` | from the waking of a thread of the user's own program until it runs (rtprobe follow) |
| `timer-irq` | from that moment until the handler of the timer's interrupt runs (rtla: IRQ) |
| `timer-thread` | from that moment until the tracer's own kernel thread runs (rtla: Thr) |
| `timer-user` | from that moment until a thread is back in user space (rtla: Usr) |
| `response:NAME` | from the moment a request was due until the thread that it wakes by way of NAME (`futex`, `signal`, ...) runs |
| `response:NAME-answer` | from that moment until the thread that waits for the answer, sent the same way, runs |
| `gpio-edge` | from the moment an edge on a wire between two GPIO lines was due until the interrupt's handler of the far end stamped it (rtprobe gpio) |
| `gpio-response` | from that moment until the thread that waits for the edge runs |
| `gpio-answer` | from that moment until that thread has set the level of an answering line |
| `response:udp-echo` | from the moment a request to another board was due until the thread that waits for its echo runs (response with --far) |
| `job-response` | from the moment an activation was due until the program that it starts has ended (rtprobe exec) |
| `job-execution` | that the program was busy: CPU time of all its threads (rtprobe exec) |
| `noise` | that something else took from a busy thread (rtla osnoise) |
| `noise-total`, `noise-longest` | that something else took from a busy thread in one window of the interval: all of it, and the longest piece (rtprobe noise, osnoise) |
| `hardware-gap` | the longest in one window that a loop with interrupts off did not run: firmware or a hypervisor; 0: none above the threshold (rtprobe hwlat) |
| `stall` | between two readings of the clock in a busy loop (oslat) |
| `work:NAME`, `work-cpu:NAME` | that a fixed amount of work took, by the clock or in CPU time (rtassay throughput); no latency |
| `mixture` | of several of these, added up into one histogram by the tool (timerlat of rteval) |
| `unknown` | the source does not tell |
"""

from __future__ import annotations

import re
from typing import Any, Final

from rtassay.model.errors import UsageError

WAKE_UP: Final = "wake-up"
APPLICATION: Final = "application-wake-up"
TIMER_IRQ: Final = "timer-irq"
TIMER_THREAD: Final = "timer-thread"
TIMER_USER: Final = "timer-user"
TIMERS: Final = (TIMER_IRQ, TIMER_THREAD, TIMER_USER)
"""Of a tracer of the kernel, which also skips activations that the lane's own latency does not show."""
GPIO_EDGE: Final = "gpio-edge"
GPIO_RESPONSE: Final = "gpio-response"
GPIO_ANSWER: Final = "gpio-answer"
GPIO: Final = (GPIO_EDGE, GPIO_RESPONSE, GPIO_ANSWER)
"""The way of an edge, in its order."""
JOB_RESPONSE: Final = "job-response"
JOB_EXECUTION: Final = "job-execution"
NOISE: Final = "noise"
NOISE_TOTAL: Final = "noise-total"
NOISE_LONGEST: Final = "noise-longest"
HARDWARE_GAP: Final = "hardware-gap"
WINDOWS: Final = (NOISE_TOTAL, NOISE_LONGEST, HARDWARE_GAP)
"""An activation is a window, and its value is no lateness: a window that was not looked at was missed for another reason."""
ECHO: Final = "response:udp-echo"
"""By another board: several requests may be on their way at once, and one that is lost is missed."""
NO_LATENESS: Final = (*WINDOWS, JOB_EXECUTION, ECHO)
"""A long value makes no activation miss its due time; what was missed was missed for another reason."""
STALL: Final = "stall"
TAKEN: Final = (NOISE, *WINDOWS, STALL)
"""Of a busy thread or loop that waits for nothing: no latency, so there is no deadline for it."""
_WORK: Final = re.compile(r"work(?:-cpu)?:[a-z0-9][a-z0-9-]{0,79}")
MIXTURE: Final = "mixture"
UNKNOWN: Final = "unknown"
MEASURES: Final = (
    WAKE_UP,
    APPLICATION,
    TIMER_IRQ,
    TIMER_THREAD,
    TIMER_USER,
    *GPIO,
    JOB_RESPONSE,
    JOB_EXECUTION,
    NOISE,
    *WINDOWS,
    STALL,
    MIXTURE,
    UNKNOWN,
)
_RESPONSE = re.compile(r"response:[a-z0-9][a-z0-9-]{0,39}")
_ANSWER: Final = "-answer"
_WORDS: Final = {
    WAKE_UP: "wake-up latency",
    APPLICATION: "wake-up delay of a program's threads",
    TIMER_IRQ: "latency of the timer's interrupt",
    TIMER_THREAD: "latency of the timer's kernel thread",
    TIMER_USER: "latency until a thread is back in user space",
    GPIO_EDGE: "latency of an edge's interrupt",
    GPIO_RESPONSE: "response to an edge",
    GPIO_ANSWER: "answer to an edge",
    JOB_RESPONSE: "response time of a job",
    JOB_EXECUTION: "execution time of a job",
    NOISE: "time taken from a busy thread",
    NOISE_TOTAL: "time taken from a busy thread in a window",
    NOISE_LONGEST: "longest time taken from a busy thread in a window",
    HARDWARE_GAP: "longest gap from below the kernel in a window",
    STALL: "gaps in a busy loop",
    MIXTURE: "several latencies added up by the tool",
    UNKNOWN: "numbers that the source does not explain",
}


def is_measure(text: str) -> bool:
    """Whether `text` is one of the table above."""
    return text in MEASURES or _RESPONSE.fullmatch(text) is not None or is_work(text)


def work_measure(work: str, part: str, *, cpu: bool) -> str:
    """The measure of a part of a work; `part` is empty for a work with one part alone."""
    return f"work{'-cpu' if cpu else ''}:{work}{f'-{part}' if part else ''}"


def is_work(measure: str) -> bool:
    """Whether it is the time that a fixed amount of work took, which is no latency: it has no deadline, and no activation was missed."""
    return _WORK.fullmatch(measure) is not None


def is_cpu_time(measure: str) -> bool:
    """Whether it is the CPU time of a work."""
    return measure.startswith("work-cpu:")


def is_response(measure: str) -> bool:
    """Whether it is the time from a request to the thread that waits for it, or to its answer."""
    return _RESPONSE.fullmatch(measure) is not None


def is_answer(measure: str) -> bool:
    """Whether it is the time from a request to its answer."""
    return is_response(measure) and measure.endswith(_ANSWER)


def answer_of(measure: str) -> str | None:
    """The measure of the answers to the requests of this one; None where it is none of requests."""
    return f"{measure}{_ANSWER}" if is_response(measure) and not is_answer(measure) else None


def parse_measure(text: str) -> str:
    """A measure that a person named. Raises UsageError for another word."""
    if not is_measure(text):
        raise UsageError(
            f"there is no measure '{text}'", hint=f"known: {', '.join(MEASURES)}, response:NAME, work:NAME"
        )
    return text


def told_measure(value: Any) -> str:
    """The measure in a source's JSON; `unknown` where it names none that is known here."""
    return value if isinstance(value, str) and is_measure(value) else UNKNOWN


def measure_words(measure: str) -> str:
    """What a reader calls the numbers of a measure: `wake-up latency`, `response by futex`."""
    name = measure.partition(":")[2]
    if is_work(measure):
        return f"CPU time of the work {name}" if is_cpu_time(measure) else f"time of the work {name}"
    return _WORDS.get(measure) or (
        f"answer by {name.removesuffix(_ANSWER)}" if is_answer(measure) else f"response by {name}"
    )
