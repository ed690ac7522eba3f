"""Events that rtprobe sends in EVENT frames (wire/STREAM.md), typed: None where one lacks a field or holds something of another type."""

from __future__ import annotations

from rtassay.model.views import View


class ChildNote(View):
    """`child_started`, `child_exited` and `owner_gone` of the guard. CPU time: of the processes that the command waited for."""

    mono_ns: int | None
    exit_code: int | None
    signal: int | None
    user_ns: int | None
    system_ns: int | None


class UsageNote(View):
    """`usage` of the guard: of all descendants of its command. `real_time`: their threads of a real-time class."""

    mono_ns: int | None
    cpu_ns: int | None
    processes: int | None
    threads: int | None
    real_time: int | None
    gpu_ns: int | None
    gpu_interrupts: int | None


class WorkNote(View):
    """`work` of `rtprobe load`: operations since its start."""

    mono_ns: int | None
    operations: int | None
    unit: str | None


class RoundNote(View):
    """`round` of `rtprobe repeat --tell`: when it began and ended, CPU time of all that it waited for, and what it wrote."""

    mono_ns: int | None
    started_ns: int | None
    user_ns: int | None
    system_ns: int | None
    output: str | None


class HitNote(View):
    """`trace_hit`: a wake-up whose trace was wanted. `captured`: whether the stream has its pages."""

    lane: int | None
    cpu: int | None
    tid: int | None
    k: int | None
    due_ns: int | None
    woke_ns: int | None
    captured: bool | None


class BreakNote(View):
    """`break`: a latency reached `--break-above`. `trace`: the file on the board that holds the kernel's trace of it."""

    trace: str | None
