"""rtprobe, our own probe: it counts every activation in exact nanoseconds, and the clock checks the count."""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import replace

from rtassay.model.errors import UsageError
from rtassay.model.events import Parser
from rtassay.model.manifest import Plan, Source
from rtassay.model.methods import DEFAULT_METHOD, settings_argv
from rtassay.model.settings import SETTINGS, has_priority
from rtassay.model.units import format_cpu_list
from rtassay.probes.base import FarEnd, Probe, count_ends_first


class RtprobeProbe(Probe):
    """`rtprobe METHOD`. If the plan asks for no policy it may use the best that the board permits, and FACTS say so.

    It is not `--attached`: it runs under an attached guard, which gives it no stdin and ends it.
    """

    name = "rtprobe"
    program: str | None = None
    stream_file = "stream.rtw"
    late_policy = "counted"
    joins = True

    def __init__(self, method: str = DEFAULT_METHOD) -> None:
        """`method`: a name of `rtprobe describe`."""
        self.method = method
        self.as_cyclictest = method == DEFAULT_METHOD

    def check(self, plan: Plan) -> None:
        """Raise UsageError for a plan that rtprobe would refuse, before anything starts."""
        if not has_priority(plan.policy) and plan.priority:
            raise UsageError(f"policy {plan.policy} has no priority", hint="leave --priority out, or ask for fifo")
        if plan.policy == "deadline" and self.method != DEFAULT_METHOD:
            raise UsageError(f"--policy deadline is for the method {DEFAULT_METHOD}", f"{self.method} has no periods")
        for setting in SETTINGS:
            value = getattr(plan, setting.field) if setting.probe else None
            if value is not None and not (setting.name == "priority" and not has_priority(plan.policy)):
                setting.check(value)
                if setting.of_method not in (None, self.method):
                    raise UsageError(
                        f"{setting.option} is for the method {setting.of_method}", f"{self.method} does not sleep by it"
                    )
        if plan.sleep == "poll" and plan.clock not in (None, "monotonic"):
            raise UsageError(
                f"--sleep poll has no --clock {plan.clock}",
                "the kernel counts the time-out of a poll by monotonic",
                "leave --clock out, or use --sleep clock_nanosleep",
            )

    def far_end(self, plan: Plan, seconds: int) -> FarEnd | None:
        """`far=MACHINE[,address=ADDRESS][,port=N]` of `response`: rtprobe echo is started there. For `far=ADDRESS[:PORT]` somebody else did."""
        far = plan.settings.get("far")
        if self.method != "response" or far is None or _is_address(far):
            return None
        machine, address, port = _machine_of(far)
        settings = {**plan.settings, "far": f"[{address}]:{port}" if ":" in address else f"{address}:{port}"}
        words = ("echo", "--port", port, "--duration", f"{seconds}s", "--fallback")
        return FarEnd(machine, words, "listening on UDP port", replace(plan, settings=settings))

    def command(self, plan: Plan, program: str, cpus: tuple[int, ...]) -> list[str]:
        argv = [program, self.method, "--cpus", format_cpu_list(cpus)]
        if plan.policy is None and plan.priority is None:
            argv.append("--fallback")
        if plan.priority == 1 and has_priority(plan.policy):
            argv += ["--writer-priority", "0"]  # it must be below the lanes'
        left_out = {"cpus", "duration" if count_ends_first(plan) else "count"}
        if not has_priority(plan.policy):
            left_out.add("priority")
        for setting in SETTINGS:
            if setting.probe and setting.name not in left_out:
                value = getattr(plan, setting.field)
                argv += [] if value is None and "off" not in setting.words else setting.argv(value)
        return argv + settings_argv(plan.settings)

    def parser(self, plan: Plan) -> Parser:
        from rtassay.wire.stream import StreamParser

        return StreamParser()

    def source(self, version: str | None) -> Source:
        return Source("rtprobe", version, "rtw/1", self.late_policy)


_PORT = "46046"


def _is_address(text: str) -> bool:
    """ADDRESS or ADDRESS:PORT, as rtprobe takes it."""
    for host in (text, text.rpartition(":")[0].removeprefix("[").removesuffix("]")):
        try:
            ipaddress.ip_address(host)
        except ValueError:
            continue
        return True
    return False


def _machine_of(far: str) -> tuple[str, str, str]:
    """Machine, address, port. Raises UsageError."""
    machine, *rest = (part.strip() for part in far.split(","))
    given = dict(part.split("=", 1) for part in rest if "=" in part)
    if not machine or len(given) != len(rest) or not given.keys() <= {"address", "port"}:
        raise UsageError(
            f"far={far} names no other board",
            hint="far=user@host or a board's name, with address=ADDRESS and port=N beside; or far=ADDRESS:PORT where `rtprobe echo` runs already",
        )
    port = given.get("port", _PORT)
    if not (port.isdigit() and 1 <= int(port) <= 65535):
        raise UsageError(f"far: port={port} is no number from 1 to 65535")
    host = given.get("address") or re.sub(r":\d+$", "", machine.rpartition("@")[2]).strip("[]")
    try:
        address = str(socket.getaddrinfo(host, None, type=socket.SOCK_DGRAM)[0][4][0])
    except OSError as error:
        raise UsageError(
            f"far={far}: '{host}' has no address ({error.strerror or error})",
            hint="give address=ADDRESS, as the measured board reaches it",
        ) from error
    return machine, address, port
