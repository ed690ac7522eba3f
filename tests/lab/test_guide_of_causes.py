"""docs/guides/what-broke-it.md on the lab's two kernels, its commands in their order: from VIOLATED to the function's name and the confirmed gain."""

from __future__ import annotations

import re
import shlex
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import rtfault
from command_line import as_process
from vboard import Board, Setup

pytestmark = pytest.mark.full
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "what-broke-it.md"
STOCK = Setup("stock", "stock")
RT = Setup("rt", "rt")
CAUSE = "preemption-off:rtfault_p"
# A lab board is slow, and its host may stop it for a while: the fault is longer than that.
DEADLINE, FAULT_US, DURATION = "200ms", 400_000, "20s"
# Lanes of 1 ms beside a load leave an emulated CPU nothing, least of all with stacks.
IDLE = ("--load", "none")
EASY = ("--interval", "10ms", *IDLE)
FAULTS = f'while :; do echo "p {FAULT_US} 1 0 1" > /proc/rtfault; sleep 1; done > /dev/null 2>&1 & echo $!'
ATTEMPTS = 3
EXIT_VIOLATED, EXIT_USAGE = 1, 2


@dataclass
class Walk:
    """A reader of the guide at one board. runs: ids of what was measured, in order."""

    board: Board
    home: Path
    faults: str
    runs: list[str] = field(default_factory=list)
    said: dict[str, str] = field(default_factory=dict)

    def measure(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        before = set(self._recordings())
        done = as_process(*words, home=self.home, timeout_s=900)
        self.runs += sorted(set(self._recordings()) - before)
        return done

    def _recordings(self) -> list[str]:
        return [path.stem for path in (self.home / "recordings").glob("*.rta")]

    def step(self, words: list[str]) -> None:
        """One command of the guide, with this board, these recordings and this cause in place of the page's."""
        tracer = words[words.index("--probe") + 1] if "--probe" in words else None
        ours = [self._stands_for(word) for word in words]
        if "--with" in words:
            self._confirm(ours)
        elif words[0] in ("run", "zoom"):
            done = self.measure([*ours, *_eased(words)])
            if tracer is not None and self.board.setup == STOCK:
                assert done.returncode == EXIT_USAGE and f"this kernel has no tracer {tracer}" in done.stderr
            else:
                assert done.returncode in ((0, 1, 4) if tracer else (0,) if words[0] == "zoom" else (EXIT_VIOLATED,)), (
                    done.stderr
                )
            self.said[tracer or words[0]] = done.stdout
        elif "--beside" not in words or self.board.setup == RT:
            done = as_process(*ours, home=self.home)
            assert done.returncode == 0, (ours, done.stdout, done.stderr)
            self.said[" ".join(word for word in words if word.startswith("--")) or words[0]] = done.stdout

    def _stands_for(self, word: str) -> str:
        first = self.runs[0] if self.runs else ""
        table = {
            "root@192.168.1.7": self.board.name,
            "20261122T180000-ffffff": first,
            "20261122T190000-dddddd": self.runs[-1] if self.runs else "",
            "irq:eth0": CAUSE,
            "200us": DEADLINE,
            "10min": DURATION,
        }
        return table.get(word, word)

    def _confirm(self, words: list[str]) -> None:
        """The same run without the cause: whether the prediction came true. A host that stops its boards for long may spoil one."""
        self.board.text(f"kill {self.faults}")
        for _ in range(ATTEMPTS):
            self.measure(
                ["run", self.board.name, "--deadline", DEADLINE, "--trace-above", "auto", "--duration", DURATION, *EASY]
            )
            done = as_process(*words[:-1], self.runs[-1], home=self.home)
            self.said["--with"] = done.stdout
            if done.returncode == 0:
                return


def _eased(words: list[str]) -> tuple[str, ...]:
    if words[0] != "run":
        return ()
    return IDLE if "--interval" in words else EASY


def commands() -> list[list[str]]:
    chapter = GUIDE.read_text().split("## Your own program")[0]
    blocks = re.findall(r"^```\n(.*?)^```", chapter, re.S | re.M)
    return [shlex.split(line)[1:] for block in blocks for line in block.splitlines() if line.startswith("rtassay ")]


@pytest.mark.parametrize("setup", [RT, STOCK], ids=lambda setup: setup.name)
def test_the_guide_leads_from_violated_to_the_function_and_the_confirmed_gain(
    board: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    module = rtfault.build(board.setup.kernel, tmp_path)
    put = board.ssh_argv("cat > /tmp/rtfault.ko; [ -e /proc/rtfault ] || insmod /tmp/rtfault.ko")
    subprocess.run(put, input=module, check=True, timeout=120)
    walk = Walk(board, tmp_path / "home", board.text(FAULTS))
    try:
        for words in commands():
            walk.step(words)
    finally:
        board.run(f"kill {walk.faults}")
        board.power_off()  # rtfault cannot be taken out
    assert "VIOLATED" in walk.said["run"] and "preemption off in rtfault_p" in walk.said["causes"]
    assert re.search(r"rtfault_(preemption_off|spin)\+0x\w+ \[rtfault\]", walk.said["zoom"]), walk.said["zoom"]
    assert "Predicted: " in walk.said["--confirm"]
    assert re.search("CONFIRMED|BETTER than predicted", walk.said["--with"]), walk.said["--with"]
    assert ("hwlat (" in walk.said.get("--beside", "")) == (board.setup == RT)
    assert {path.name for path in tmp_path.iterdir()} >= {"causes.html", "late.perfetto.json", "late.dat"}
