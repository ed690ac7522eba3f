"""Jobs that a timer starts."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, absent, ok, wrong
from rtassay.model.knobs import LOW, RUN_TIME, SERVICE, Action, Detail, Goal, Look

_TIMERS = "/etc/systemd/system/*.target.wants/*.timer"
_KNOWN = (
    "apt-daily",
    "apt-daily-upgrade",
    "fstrim",
    "logrotate",
    "man-db",
    "e2scrub_all",
    "dpkg-db-backup",
    "snapd.snap-repair",
    "motd-news",
    "fwupd-refresh",
    "plocate-updatedb",
    "mlocate-updatedb",
    "updatedb",
)


class BackgroundTimers(Knob):
    """Enabled units by their links, so that no program is started on the board."""

    name = "background-timers"
    title = "jobs that timers start (apt, fstrim, logrotate ...)"
    why = "They read and write much at hours that nobody watches; a short measurement never meets them."
    effect = "shows only in runs of many hours"
    harm = "updates and trims do not happen by themselves"
    scope = RUN_TIME
    evidence = "V"
    severity = LOW
    sources = ("Ubuntu real-time documentation",)
    reads = (_TIMERS, "/proc/1/comm")

    def look(self, seen: Seen, goal: Goal) -> Look:
        if seen.text("/proc/1/comm") != "systemd":
            return absent("systemd does not run here; look at cron")
        paths = list(seen.matching(_TIMERS)) if seen.has(_TIMERS) else []
        names = sorted({path.rpartition("/")[2].removesuffix(".timer") for path in paths})
        known = [name for name in names if name in _KNOWN]
        if not known:
            return ok(f"{len(names)} timers, none of those that are known to work hard")
        return wrong(
            ", ".join(known),
            "stopped while it matters",
            *(Action(SERVICE, f"{name}.timer", "stop") for name in known),
            details=tuple(Detail(name, "enabled") for name in names),
        )
