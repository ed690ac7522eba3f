"""What the tests of monitors share."""

from __future__ import annotations

from pathlib import Path

from rtassay.monitors.base import Message, Monitor, Reading

DATA = Path(__file__).parents[2] / "data" / "monitors"
S = 10**9


def values(monitor: Monitor, content: bytes, mono_ns: int = 0, path: str | None = None) -> dict[str, float]:
    """Readings by name; asserts that no name comes twice."""
    said = [r for r in monitor.parse(mono_ns, path or monitor.paths[0], content) if isinstance(r, Reading)]
    assert len({reading.name for reading in said}) == len(said)
    return {reading.name: reading.value for reading in said}


def texts(monitor: Monitor, content: bytes, mono_ns: int) -> list[tuple[int, str]]:
    """Messages as (time, text)."""
    said = monitor.parse(mono_ns, monitor.paths[0], content)
    return [(message.mono_ns, message.text) for message in said if isinstance(message, Message)]


def recorded(name: str) -> bytes:
    return (DATA / name).read_bytes()
