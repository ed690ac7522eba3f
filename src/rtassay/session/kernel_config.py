"""What a kernel's configuration and version say about preemption."""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import zlib

from rtassay.model import foreign

# A configuration is some 300 kB.
_MOST_BYTES = 4_000_000
_SYMBOL = re.compile(r"^(CONFIG_\w+)=(.*)$", re.MULTILINE)
_PARENTHESES = re.compile(r"\((\w+)\)")
_ON_CMDLINE = re.compile(r"(?:^|\s)preempt=(none|voluntary|full|lazy)(?=\s|$)")


# What makes a kernel slower to find its own mistakes. Tracers of latency count: their hooks are in every critical section.
DEBUG_OPTIONS = (
    "DEBUG_PREEMPT",
    "PREEMPT_DEBUG",
    "PROVE_LOCKING",
    "LOCKDEP",
    "LOCK_STAT",
    "DEBUG_LOCK_ALLOC",
    "DEBUG_SPINLOCK",
    "DEBUG_MUTEXES",
    "DEBUG_RT_MUTEXES",
    "DEBUG_RWSEMS",
    "DEBUG_ATOMIC_SLEEP",
    "DEBUG_OBJECTS",
    "DEBUG_PAGEALLOC",
    "DEBUG_KMEMLEAK",
    "DEBUG_VM",
    "SLUB_DEBUG_ON",
    "SLAB_DEBUG",
    "PAGE_POISONING",
    "KASAN",
    "KCSAN",
    "KMSAN",
    "UBSAN_SANITIZE_ALL",
    "KCOV",
    "GCOV_KERNEL",
    "IRQSOFF_TRACER",
    "PREEMPT_TRACER",
    "PROVE_RCU",
    "FAULT_INJECTION",
)
_DEBUG_ON_CMDLINE = re.compile(
    r"(?:^|\s)((?:slub_debug|slab_debug|debug_pagealloc|page_poison|kmemleak)(?:=\S*)?)(?=\s|$)"
)


def debug_options(config: dict[str, str] | None, cmdline: str | None) -> list[str] | None:
    """Debugging that is built in (`PROVE_LOCKING`) or was asked for at boot (`slub_debug=FZ`); None: the configuration is not known."""
    asked = _DEBUG_ON_CMDLINE.findall(cmdline or "")
    asked = [word for word in asked if not word.endswith(("=off", "=0", "=-"))]
    if config is None:
        return asked or None
    return [name for name in DEBUG_OPTIONS if config.get(f"CONFIG_{name}") == "y"] + asked


def unpack(content: bytes | None) -> str | None:
    """Text of a kernel configuration, gzipped (/proc/config.gz) or not (/boot/config-*); None if it is neither."""
    if not content:
        return None
    if content.startswith(b"\x1f\x8b"):
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
                content = file.read(_MOST_BYTES)
        except (OSError, EOFError, zlib.error):
            return None
    text = content.decode(errors="replace")
    return text if "CONFIG_" in text else None


def symbols(text: str) -> dict[str, str]:
    """`CONFIG_X` -> value for everything that is set; quotes are taken off."""
    return {match[1]: match[2].strip().strip('"') for match in _SYMBOL.finditer(text)}


def sha256(text: str) -> str:
    """Of the unpacked text, so that /proc/config.gz and /boot/config-* agree."""
    return hashlib.sha256(text.encode()).hexdigest()


def preempt_model(version: str | None, realtime_file: str | None, config: dict[str, str] | None) -> str | None:
    """PREEMPT_RT, PREEMPT_DYNAMIC, PREEMPT, VOLUNTARY or NONE. What runs (version, /sys/kernel/realtime) goes before the config.

    A name such as `5.10-rt` proves nothing and is not looked at. None: nothing tells.
    """
    banner = version or ""
    if realtime_file == "1" or re.search(r"\bPREEMPT[_ ]RT\b", banner):
        return "PREEMPT_RT"
    if "PREEMPT_DYNAMIC" in banner:
        return "PREEMPT_DYNAMIC"
    if re.search(r"\bPREEMPT\b", banner):
        return "PREEMPT"
    if config is None:
        return None
    for symbol, model in (
        ("CONFIG_PREEMPT_RT", "PREEMPT_RT"),
        ("CONFIG_PREEMPT_RT_FULL", "PREEMPT_RT"),
        ("CONFIG_PREEMPT_DYNAMIC", "PREEMPT_DYNAMIC"),
        ("CONFIG_PREEMPT", "PREEMPT"),
        ("CONFIG_PREEMPT_VOLUNTARY", "VOLUNTARY"),
        ("CONFIG_PREEMPT_NONE", "NONE"),
    ):
        if config.get(symbol) == "y":
            return model
    return None


def preempt_dynamic(debug_file: str | None, cmdline: str | None, config: dict[str, str] | None) -> str | None:
    """The mode a PREEMPT_DYNAMIC kernel runs in: none, voluntary, full or lazy. debugfs knows; else what it was booted with."""
    if debug_file and (current := _PARENTHESES.search(debug_file)):
        return current[1]
    if cmdline is not None and (given := _ON_CMDLINE.findall(cmdline)):
        return str(given[-1])
    if config is None or cmdline is None:
        return None
    for symbol, mode in (
        ("CONFIG_PREEMPT_NONE", "none"),
        ("CONFIG_PREEMPT_VOLUNTARY", "voluntary"),
        ("CONFIG_PREEMPT_LAZY", "lazy"),
        ("CONFIG_PREEMPT", "full"),
    ):
        if config.get(symbol) == "y":
            return mode
    return None


def describe(
    files: dict[str, bytes], config_text: str | None, release: str | None, cmdline: str | None
) -> dict[str, object]:
    """The inventory's `kernel`."""
    config = symbols(config_text) if config_text is not None else None
    version = _line(files.get("/proc/version"))
    realtime = _line(files.get("/sys/kernel/realtime"))
    model = preempt_model(version, realtime, config)
    debug_file = _line(files.get("/sys/kernel/debug/sched/preempt"))
    hz = None if config is None else config.get("CONFIG_HZ")
    return {
        "release": release,
        "version": version,
        "realtime_file": realtime,
        "preempt_model": model,
        "preempt_dynamic": preempt_dynamic(debug_file, cmdline, config) if model == "PREEMPT_DYNAMIC" else None,
        "config_sha256": None if config_text is None else sha256(config_text),
        "config_rt": None if config is None else config.get("CONFIG_PREEMPT_RT") == "y",
        "debug": debug_options(config, cmdline),
        "config_hz": foreign.number(hz),
    }


def _line(content: bytes | None) -> str | None:
    text = None if content is None else content.decode(errors="replace").strip()
    return text or None
