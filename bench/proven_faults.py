#!/usr/bin/env python3
"""The tables of bench/PROVEN_FAULTS.md: campaigns of `prove` on script boards whose faults are planted, in virtual time.

    .venv/bin/python bench/proven_faults.py [--campaign NAME] [-o DIR]

The page keeps the chapters of the other campaigns. Every run is one boot; its seed stands for the scatter between boots. A run takes half a minute to a minute on the host. Finished
runs are kept in `.proven-NAME.json` of the output directory: started again, it does only the others.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import rtfault

from rtassay import store
from rtassay.analysis.judge import judge as findings_of
from rtassay.analysis.many.prove.campaign import decide
from rtassay.analysis.many.prove.judging import judge
from rtassay.analysis.many.prove.response import run_of
from rtassay.boards.binaries import probe_path
from rtassay.cli.judging import parser_for
from rtassay.experiments.proving import shuffled
from rtassay.importers.rtw import RtwImporter
from rtassay.lab import quick
from rtassay.lab.arches import arch_named
from rtassay.lab.script import STREAM, ScriptBoard
from rtassay.model.knobs import WRITE, Action
from rtassay.model.proving import CONFIRM, Arm, Campaign, Judged, Rules, Run, Stage, Subject
from rtassay.model.tuning import line_of
from rtassay.reports.proof import proof_text

ROOT = Path(__file__).resolve().parents[1]
QUANTILE = 0.99
# Equal boots scatter little in virtual time, and each takes half a minute or more.
_FEW = Rules(unchanged=2, pairs=1, references=1)
RULES = {"faults": _FEW, "interrupt": _FEW, "services": Rules()}
KERNELS = {"faults": "stock", "interrupt": "rt", "services": "rt"}
HEAD = """# Planted faults that prove finds

`.venv/bin/python bench/proven_faults.py --campaign NAME`. Numbers of a virtual board: signs and proportions, no latencies of hardware.
"""
# The faults come every 3, 3.3 and 4 ms: at an interval of 500 us they would always meet an activation, or never.
WORDS = {
    "faults": "cyclic --interval 497us --duration 2s --priority 80",
    "interrupt": "cyclic --interval 497us --duration 2s --priority 80",
    "services": "cyclic --interval 500us --duration 2s --priority 80",
}
MODULES = ("rtfault", "timerfault", "irqfault")
IRQ_PRIORITY = 96
# A service whose real-time thread, above the measured one, computes for a millisecond and sleeps in turns. Stopping it is the setting.
_SERVICE = "stress-ng --cpu 1 --cpu-method loop --cpu-load {load} --cpu-load-slice 1 --sched fifo --sched-prio {priority} --seed 1 >/dev/null 2>&1 &\n{name}=$!\n"


@dataclass(frozen=True)
class Planted:
    """A setting: `fault` is on every board. What it does about it: `writes`, files and values that rtprobe tune writes, and `apply`, which may add lines to its plan.

    `truth`: the word that must come out.
    """

    subject: Subject
    fault: str
    apply: str
    truth: str
    writes: tuple[tuple[str, str], ...] = ()


def _service(name: str, priority: int, load: int) -> str:
    return _SERVICE.format(name=name, priority=priority, load=load)


def _idle(name: str, path: str, value: str) -> Planted:
    return Planted(Subject(name, "memory"), "", "", "no effect", ((path, value),))


# The scheduler takes the CPU from all real-time threads for 10 ms of each 100 ms in which they want more.
_HOG = """
echo 90000 > /proc/sys/kernel/sched_rt_runtime_us; echo 100000 > /proc/sys/kernel/sched_rt_period_us
stress-ng --cpu 1 --cpu-method loop --cpu-load 20 --cpu-load-slice 200 --sched fifo --sched-prio 50 --seed 1 >/dev/null 2>&1 &
"""
# The module's console takes 300 us for each line that holds its name; a warning every 3 ms.
_STORM = 'echo 8 > /proc/sys/kernel/printk; echo "w 300 1000000 1 3000000" > /proc/rtfault'
_TIMER = 'echo "h 300 1000000 1 4000000" > /proc/timerfault'
# A device whose driver computes for 300 us in a thread above the measured one. With one CPU its interrupt cannot be moved away; the thread can be put below.
_INTERRUPT = """
first=$(($(cut -d' ' -f1 /proc/uptime | tr -d .) * 10000000))
echo "d 300 1000000 $first 3300000" > /proc/irqfault
"""
_APP = "/sys/fs/cgroup/app"
_MEMORY = f"""
mount -t cgroup2 c /sys/fs/cgroup; echo +memory > /sys/fs/cgroup/cgroup.subtree_control; mkdir {_APP}
(echo 0 > {_APP}/cgroup.procs; exec stress-ng --vm 1 --vm-bytes 90M --vm-method zero-one --seed 1) >/dev/null 2>&1 &
"""
# The thread's number is known on the board only.
_LOWER = r"""
for s in /proc/[0-9]*/stat; do [ "$(cut -d' ' -f40 $s 2>/dev/null)" = {was} ] &&
  printf 'policy\t%s\t=%s\tfifo\t{wanted}\n' "$(cut -d' ' -f1 $s)" "$(cut -d' ' -f2 $s | tr -d '()')" >> /tmp/tune/plan; done
"""

CAMPAIGNS = {
    "faults": (
        Planted(Subject("printk", "printk"), _STORM, "", "helps", (("/proc/sys/kernel/printk", "1 4 1 7"),)),
        Planted(Subject("cpu-timers", "cpu-timers"), _TIMER, "echo stop > /proc/timerfault", "helps"),
        Planted(
            Subject("foreign-rt-threads", "foreign-rt-threads"),
            _service("A", 95, 6),
            _LOWER.format(was=95, wanted=79),
            "helps",
        ),
        Planted(
            Subject("rt-throttling", "rt-throttling"),
            _HOG,
            "",
            "helps",
            (("/proc/sys/kernel/sched_rt_runtime_us", "-1"),),
        ),
        Planted(
            Subject("memory-limit", "memory-limit"), _MEMORY, "", "helps", ((f"{_APP}/memory.high", str(16 << 20)),)
        ),
        *(
            replace(one, subject=Subject(one.subject.id, one.subject.id))
            for one in (
                _idle("swappiness", "/proc/sys/vm/swappiness", "10"),
                _idle("vmstat-interval", "/proc/sys/vm/stat_interval", "10"),
                _idle("cache-pressure", "/proc/sys/vm/vfs_cache_pressure", "50"),
                _idle("writeback", "/proc/sys/vm/dirty_writeback_centisecs", "3000"),
            )
        ),
    ),
    "interrupt": (
        Planted(
            Subject("irq-thread-priority", "irq-thread-priority"),
            _INTERRUPT,
            _LOWER.format(was=IRQ_PRIORITY, wanted=50),
            "helps",
        ),
    ),
    "services": (
        Planted(Subject("service-95", "services"), _service("A", 95, 6), "kill $A", "helps"),
        Planted(Subject("service-90", "services"), _service("B", 90, 6), "kill $B", "helps"),
        Planted(
            Subject("scheduler-events", "tracing"), "", "echo 1 > /sys/kernel/tracing/events/sched/enable", "harms"
        ),
        _idle("swappiness", "/proc/sys/vm/swappiness", "10"),
        _idle("vmstat-interval", "/proc/sys/vm/stat_interval", "10"),
        _idle("overcommit", "/proc/sys/vm/overcommit_memory", "2"),
        _idle("writeback", "/proc/sys/vm/dirty_writeback_centisecs", "3000"),
    ),
}


class Runs:
    """Measures on script boards, and keeps what was measured."""

    def __init__(self, planted: tuple[Planted, ...], file: Path, kernel: str, words: str) -> None:
        image = quick.cached(arch_named("amd64")) or quick.build(arch_named("amd64"), _say)
        self._planted, self._file, self._words = planted, file, words
        self._kernel, self._userland = image.kernels[kernel], image.initramfs.read_bytes()
        with tempfile.TemporaryDirectory() as scratch:
            sources = {name: {f"{name}.c": rtfault.SOURCE.read_text()} for name in MODULES}
            modules = rtfault.build_modules(kernel, Path(scratch), sources)
        self._files = {"bin/rtprobe": probe_path("x86_64").read_bytes()}
        self._files |= {f"{name}.ko": module for name, module in modules.items()}
        self.kept: dict[str, dict[str, float | str]] = json.loads(file.read_text()) if file.exists() else {}

    def measure(self, stage: Stage) -> list[Run]:
        """All runs of a stage, in turns as `prove` makes them."""
        found = []
        for block in range(1, stage.blocks + 1):
            for arm in shuffled(stage, block, 1):
                found.append(self._run(stage, arm, block, len(found)))
        return found

    def _run(self, stage: Stage, arm: Arm, block: int, number: int) -> Run:
        key = f"{stage.title} {block} {number} {arm.name}"
        if key not in self.kept:
            # Every run has a seed of its own, whatever the stage is.
            made = self._boot(arm, block, 1000 * (1 + sum(map(ord, stage.title))) + number)
            self.kept[key] = asdict(made)
            self._file.write_text(json.dumps(self.kept, indent=1))
            _say(f"{key}: {2.718281828**made.response / 1000:.1f} us")
        return Run(**self.kept[key])  # type: ignore[arg-type]

    def _boot(self, arm: Arm, block: int, seed: int) -> Run:
        faults = "".join(f"insmod /{name}.ko\n" for name in MODULES) + "\n".join(one.fault for one in self._planted)
        chosen = [one for one in self._planted if one.subject.id in arm.applied]
        plan = "".join(line_of(Action(WRITE, path, value)) for one in chosen for path, value in one.writes)
        added = "\n".join(one.apply for one in chosen)
        applied = f"mkdir -p /tmp/tune; : > /tmp/tune/journal; cat > /tmp/tune/plan <<'END'\n{plan}END\n{added}\nrtprobe tune --once /tmp/tune\ncp /tmp/tune/result /out/tuned\n"
        script = f"{faults}\nsleep 1\n{applied}\nsleep 1\nrtprobe {self._words} -o /out/{STREAM} 2>/out/errors\n"
        board = ScriptBoard(self._kernel, self._userland, self._files, script, seed)
        result = board.run(900)
        refused = [line for line in result.files["tuned"].decode().splitlines() if "\t" in line and "took" not in line]
        if refused:
            raise SystemExit(f"{arm.name}, seed {seed}: a setting was not made: {refused}")
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "run.rtw"
            path.write_bytes(result.stream)
            importer = RtwImporter()
            made = store.import_events(
                Path(scratch), path, importer.source(path), importer.read(path), labels={}, board="lab:script",
                damage=lambda: importer.damage, inventory={"virtualisation": "tcg"},
            )  # fmt: skip
            findings = findings_of(store.open_recording(made, parser_for=parser_for))
        told = run_of(findings, arm.name, block, QUANTILE)
        if isinstance(told, str):
            raise SystemExit(f"{arm.name}, seed {seed}: {told}")
        return told


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def campaign(
    planted: tuple[Planted, ...], rules: Rules, measure: Callable[[Stage], list[Run]]
) -> tuple[Campaign, list[Judged]]:
    """From the first run to the last."""
    subjects, done = tuple(one.subject for one in planted), list[Judged]()
    while (found := decide(subjects, rules, done)).next is not None:
        done.append(judge(found.next, measure(found.next), rules))
    return found, done


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--campaign", choices=CAMPAIGNS, default="faults")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "bench", metavar="DIR")
    told = parser.parse_args()
    planted, kernel = CAMPAIGNS[told.campaign], KERNELS[told.campaign]
    runs = Runs(planted, told.output / f".proven-{told.campaign}.json", kernel, WORDS[told.campaign])
    found, done = campaign(planted, RULES[told.campaign], runs.measure)
    page = told.output / "PROVEN_FAULTS.md"
    page.write_text(
        with_chapter(page.read_text() if page.exists() else "", told.campaign, chapter(planted, kernel, found, done))
    )
    wrong = sum(worth.word != one.truth for one, worth in zip(planted, found.worths, strict=True))
    print(f"{wrong} of {len(planted)} settings are not called what they are")
    return 1 if wrong else 0


def chapter(planted: tuple[Planted, ...], kernel: str, found: Campaign, done: list[Judged]) -> str:
    """What the campaign found, beside what was planted."""
    lines = [
        f"Debian's {kernel} kernel on the script board, in virtual time on one CPU; every run is a boot with a seed of its own. {sum(j.runs for j in done)} runs; "
        f"a factor is p{100 * QUANTILE:g} without the setting over that with it.",
        "",
        "| setting | planted | found | factor | 95 % |",
        "| --- | --- | --- | ---: | --- |",
    ]
    for one, worth in zip(planted, found.worths, strict=True):
        effect = None if worth.answer is None else worth.answer.effect
        cells = ("-", "-") if effect is None else (proof_text.factor(effect.ratio), proof_text.interval(effect))
        lines.append(f"| {worth.id} | {one.truth} | {proof_text.finding(worth)} | {cells[0]} | {cells[1]} |")
    if found.ended_at == CONFIRM and found.confirmed is not None and found.confirmed.effect is not None:
        effect = found.confirmed.effect
        words = proof_text.words(found.confirmed.word, found.confirmed)
        lines.append(
            f"| {' and '.join(found.chosen)}, confirmed | helps | {words} | {proof_text.factor(effect.ratio)} | {proof_text.interval(effect)} |"
        )
    return "\n".join([*lines, "", *(f"- {proof_text.stage_line(judged)}" for judged in done)])


def with_chapter(page: str, name: str, text: str) -> str:
    """The page with this chapter in place of the one of that name."""
    chapters = dict(part.partition("\n")[::2] for part in page.split("\n## ")[1:])
    chapters[name] = f"\n{text}\n"
    return HEAD + "".join(f"\n## {title}\n{chapters[title].rstrip()}\n" for title in CAMPAIGNS if title in chapters)


if __name__ == "__main__":
    sys.exit(main())
