#!/usr/bin/env python3
"""Writes SETTINGS_PUT_BACK.md: `rtassay tune` on a board of the lab, disturbed at random moments, and whether the board is as before.

    .venv/bin/python bench/settings_put_back.py lab:NAME [--points N] [--seed N] [--minutes N] [-o DIR]

Points that are done are kept in `.settings-put-back.json` of the output directory: started again, it does only the others. A killed host's lease lasts 45 s, so a point takes up to a
minute and a half, mostly asleep.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from rtassay.cli.main import main as rtassay
from rtassay.lab import machine
from rtassay.lab.machine import Machine

ROOT = Path(__file__).resolve().parents[1]
PLAN = """
[[write]]
file = "/proc/sys/vm/swappiness"
value = 7
[[write]]
file = "/proc/sys/vm/dirty_bytes"
value = 16777216
also = ["/proc/sys/vm/dirty_ratio"]
[[write]]
file = "/proc/irq/default_smp_affinity"
value = 1
[[write]]
file = "/sys/devices/virtual/workqueue/cpumask"
value = 1
[[write]]
file = "/proc/sys/kernel/watchdog"
value = 0
"""
# A kernel sets user_reserve_kbytes at its boot, by the memory that is free then. Files in /run of a host that was killed in a step go with a later contact.
# What rtassay may change, whether by this plan or by mistake, and what it leaves on a board.
STATE = r"""
grep -s '' /proc/sys/kernel/* /proc/sys/vm/* /proc/irq/*/smp_affinity_list /proc/irq/default_smp_affinity /sys/devices/virtual/workqueue/cpumask 2>/dev/null |
  grep -v -e ns_last_pid -e random -e pty -e drop_caches -e user_reserve_kbytes
ls /tmp; ls /run | grep -v '^rtassay-tuned'; [ -e /run/rtassay-tuned/journal ] && echo journal; grep -hs '^rtprobe' /proc/[0-9]*/comm; true
"""
ALL_GUARDS = 'all=; for p in /proc/[0-9]*; do case $(cat $p/comm 2>/dev/null) in rtprobe*) all="$all ${p#/proc/}";; esac; done; [ -z "$all" ] || { kill -STOP $all; kill -9 $all; }'
ONE_GUARD = "read -r guard start </run/rtassay-tuned/guard && kill -9 $guard"
KINDS = {"host": 26, "guard": 18, "host and guards": 16, "link": 14, "power": 10, "two hosts": 16}
SAID = {
    "host": "SIGKILL of the host",
    "guard": "SIGKILL of the guard",
    "host and guards": "SIGKILL of the host, its guard and the standby",
    "link": "the link cut for 8 s",
    "power": "power cycle",
    "two hosts": "a second host begins",
}
OURS, PATIENCE_S = (0, 3, 4), 180.0


@dataclass(frozen=True)
class Point:
    """`codes`: of the hosts, negative for a signal. `applied`: the board was changed when the disturbance was over. `wrong`: what was not as it should be; empty: all was."""

    number: int
    kind: str
    moment_s: float
    codes: list[int | None]
    applied: bool
    wrong: list[str]
    took_s: float


class Campaign:
    """Points on one board."""

    def __init__(self, board: Machine, scratch: Path) -> None:
        self._board, self._scratch = board, scratch
        (scratch / "plan.toml").write_text(PLAN)
        self._tune(["--revert"], "a").join()
        self._before = self._state()
        begun = time.monotonic()
        if (code := self._apply("a").join()) != 0:
            raise SystemExit(f"an undisturbed tune ends with {code}: {self._said('a')}")
        self.span_s = time.monotonic() - begun
        self._expect_back([])

    def point(self, number: int, kind: str, share: float) -> Point:
        """One disturbance at a share of the time that tune takes, and a bit beyond its end."""
        begun, moment_s = time.monotonic(), share * self.span_s * 1.25
        wrong: list[str] = []
        hosts = [self._apply("a")]
        time.sleep(moment_s)
        if kind == "two hosts":
            hosts.append(self._apply("b"))
        else:
            self._disturb(kind, hosts[0])
        codes = [host.join() for host in hosts]
        wrong += self._judged(kind, hosts, codes)
        applied = self._until_it_answers(wrong) != self._before
        self._expect_back(wrong)
        return Point(number, kind, moment_s, codes, applied, wrong, time.monotonic() - begun)

    def _disturb(self, kind: str, host: Host) -> None:
        if kind.startswith("host"):
            host.kill()
        if kind == "guard":
            self._board.ssh(ONE_GUARD)
        if kind == "host and guards":
            self._board.ssh(ALL_GUARDS)
        if kind == "link":
            self._board.set_link(False)
            time.sleep(8)
            self._board.set_link(True)
        if kind == "power":
            self._board.reset()

    def _judged(self, kind: str, hosts: list[Host], codes: list[int | None]) -> list[str]:
        """A host that lives ends with a code of its own, and of two hosts one at most has its way."""
        wrong = [
            f"host {host.name} ended with {code}: {self._said(host.name)}"
            for host, code in zip(hosts, codes, strict=True)
            if not host.killed and code not in OURS
        ]
        if kind == "two hosts" and codes.count(0) != 1:
            wrong.append(f"{codes.count(0)} of two hosts had their way")
        return wrong

    def _expect_back(self, wrong: list[str]) -> None:
        """The next contact puts everything back."""
        end = time.monotonic() + PATIENCE_S
        while (code := self._tune(["--revert"], "a").join()) != 0:
            if "is in use" not in (told := self._said("a")) and "cannot" not in told:
                wrong.append(f"tune --revert ended with {code}: {told}")
                break
            if time.monotonic() > end:
                wrong.append(f"tune --revert did not succeed: {told}")
                break
            time.sleep(3)
        # The host that was refused has nothing to put back; what it remembers it forgets at its next contact.
        now = self._until(self._before)
        if now != self._before:
            gone = sorted(set(self._before.split("\n")) ^ set(now.split("\n")))
            wrong.append(f"the board is not as before: {gone[:6]}")
        if left := sorted(path.name for path in (self._scratch / "a" / "tuned").glob("*.json")):
            wrong.append(f"the host still remembers {left}")

    def _until(self, wanted: str) -> str:
        """The state; processes need a moment to end."""
        end = time.monotonic() + 15
        while (now := self._state()) != wanted and time.monotonic() < end:
            time.sleep(1)
        return now

    def _until_it_answers(self, wrong: list[str]) -> str:
        end = time.monotonic() + PATIENCE_S
        while True:
            with contextlib.suppress(Exception):
                return self._state()
            if time.monotonic() > end:
                wrong.append("the board did not answer again")
                return ""
            time.sleep(2)

    def _state(self) -> str:
        done = self._board.ssh(STATE, timeout_s=120)
        if done.returncode:
            raise OSError(done.stderr)
        return done.stdout.decode()

    def _apply(self, name: str) -> Host:
        return self._tune(["--plan", str(self._scratch / "plan.toml"), "--for", "10m"], name)

    def _tune(self, words: list[str], name: str) -> Host:
        return Host(name, self._scratch / name, ["tune", f"lab:{self._board.name}", *words])

    def _said(self, name: str) -> str:
        return (self._scratch / name / "said").read_text(errors="replace").strip()[-300:].replace("\n", " / ")


class Host:
    """A process that runs rtassay. It is forked, so that no time passes before it begins."""

    def __init__(self, name: str, home: Path, words: list[str]) -> None:
        self.name, self.killed = name, False
        home.mkdir(exist_ok=True)
        self._pid = os.fork()
        if self._pid == 0:
            _become(home, words)

    def kill(self) -> None:
        """At once, if it still runs."""
        self.killed = True
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)

    def join(self) -> int | None:
        """Its exit code, or the signal that ended it as a negative number; None: it had to be ended."""
        end = time.monotonic() + PATIENCE_S
        while (told := os.waitpid(self._pid, os.WNOHANG))[0] == 0:
            if time.monotonic() > end:
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
                return None
            time.sleep(0.05)
        return os.waitstatus_to_exitcode(told[1])


def _become(home: Path, words: list[str]) -> None:
    """Does not return."""
    code: object = 70
    try:
        os.setsid()
        os.environ["RTASSAY_HOME"] = str(home)
        said = os.open(home / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for at, fd in enumerate((nothing, said, said)):
            os.dup2(fd, at)
        sys.argv = ["rtassay", *words]
        rtassay()
        code = 0
    except SystemExit as ended:
        code = ended.code
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def points(count: int, seed: int) -> list[tuple[str, float]]:
    """Kind and moment of each point: the kinds in their proportions, in random order, so that a campaign that ends early has all of them."""
    generator = random.Random(seed)
    kinds = [kind for kind, weight in KINDS.items() for _ in range(weight)]
    generator.shuffle(kinds)
    return [(kinds[at % len(kinds)], generator.random()) for at in range(count)]


def page(done: list[Point]) -> str:
    """A row for each kind of disturbance."""
    lines = [
        "# Settings are put back, whatever happens to host and board",
        "",
        "`.venv/bin/python bench/settings_put_back.py lab:NAME`: `rtassay tune` of five settings (values, a pair, masks of CPUs) on a virtual board, disturbed at a random moment of its work or",
        "shortly after it. Then `rtassay tune --revert` of the same host, and a snapshot of every sysctl of kernel and memory, all affinities of interrupts, files and processes of ours is compared with that of before.",
        "",
        "| disturbance | points | changed when it was over | put back, nothing left |",
        "| --- | ---: | ---: | ---: |",
    ]
    for kind, said in SAID.items():
        of = [one for one in done if one.kind == kind]
        if of:
            lines.append(
                f"| {said} | {len(of)} | {sum(one.applied for one in of)} | {sum(not one.wrong for one in of)} |"
            )
    lines.append(f"| all | {len(done)} | {sum(one.applied for one in done)} | {sum(not one.wrong for one in done)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("board", metavar="lab:NAME")
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=600)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "bench", metavar="DIR")
    told = parser.parse_args()
    end = time.monotonic() + 60 * told.minutes
    file = told.output / ".settings-put-back.json"
    done = [Point(**one) for one in json.loads(file.read_text())] if file.exists() else []
    board = machine.find(told.board.removeprefix("lab:"))
    assert board is not None
    with tempfile.TemporaryDirectory(prefix="rtassay-put-back-") as scratch:
        campaign = Campaign(board, Path(scratch))
        _say(f"an undisturbed tune takes {campaign.span_s:.1f} s")
        for number, (kind, share) in enumerate(points(told.points, told.seed)):
            if number < len(done):
                continue
            if time.monotonic() > end:
                _say(f"{len(done)} of {told.points} points are done: start it again")
                return 4
            done.append(campaign.point(number, kind, share))
            file.write_text(json.dumps([asdict(one) for one in done], indent=1))
            _say(f"{done[-1]}")
    (told.output / "SETTINGS_PUT_BACK.md").write_text(page(done))
    return 1 if any(one.wrong for one in done) else 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
