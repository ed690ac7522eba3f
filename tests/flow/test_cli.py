"""The command line as a user meets it: real runs of a few seconds, every verb after them, and every way to get it wrong."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import RTASSAY, Done, as_process, in_process

from rtassay.cli.verbs import VERBS
from rtassay.model import rooms
from rtassay.store.writer import LOCK


def as_json(*args: str | Path, home: Path, codes: tuple[int, ...] = (0,)) -> Any:
    done = in_process(*args, "--json", home=home)
    assert done.returncode in codes, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def run(home: Path) -> Any:
    """A real run of three seconds under the built-in load, judged by a generous deadline."""
    done = as_process(
        "run", "--duration", "3s", "--interval", "1ms", "--load", "builtin", "--deadline", "1s", "--p", "0.01",
        "--label", "ambient=21C", "--note", "a <note>", "--json", home=home,
    )  # fmt: skip
    assert done.returncode in (0, 1, 4, 5), done.stderr
    return json.loads(done.stdout)


def test_run_prints_exactly_one_object_that_accounts_for_every_activation(run: Any) -> None:
    assert run["schema"] == "rtassay/show/1"
    assert len(run["lanes"]) == len(os.sched_getaffinity(0))
    for lane in run["lanes"]:
        assert lane["due"] == lane["n"] + lane["missed"] + lane["dropped"] + lane["truncated"]
        assert lane["due"] == 3000
        assert lane["min_ns"] <= lane["mean_ns"] <= lane["max_ns"]
        assert [q["q"] for q in lane["quantiles"]] == [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 0.9999999]
    assert run["sealed"] is True
    assert run["labels"]["ambient"] == "21C"
    assert run["verdict"]["deadline_ns"] == 1_000_000_000


# What each verb is called with, once as a process and once in this one. {id}: the run; {file}: not there yet.
EVERY_VERB = {
    "plan": ["--deadline", "100us", "--p", "1e-6"],
    "run": ["--priority", "0"],
    "throughput": ["--work", "none"],
    "exec": ["--priority", "0", "--", "true"],
    "import": ["/no/such"],
    "experiment": ["plan", "smoke"],
    "presets": [],
    "list": [],
    "status": ["{id}"],
    "watch": ["{id}"],
    "show": ["{id}"],
    "compare": ["{id}", "--with", "{id}"],
    "causes": ["{id}"],
    "zoom": ["{id}", "--above", "0"],
    "explain": ["--pid", "1", "--above", "0"],
    "doctor": ["{id}"],
    "tune": ["{id}", "--profile", "none"],
    "prove": ["--show", "{file}"],
    "extrapolate": ["{id}", "-o", "{file}.html"],
    "report": ["{id}", "-o", "{file}.html"],
    "figure": ["latency", "{id}", "--width", "column", "-o", "{file}.png"],
    "table": ["cores", "{id}"],
    "export": ["{id}", "--to", "csv"],
    "published": ["list"],
    "label": ["{id}"],
    "rm": ["nothing"],
    "prune": ["--keep", "100", "--dry-run"],
    "seal": ["{id}"],
    "checks": [],
    "config": ["path"],
    "completion": ["bash"],
    "board": ["list"],
    "kernel": ["list"],
    "image": ["nothing", "-o", "{file}.img", "--key", "{file}"],
    "gate": ["{id}.no"],
    "lab": ["list"],
    "probe": ["path"],
}


def test_no_verb_is_missing_below() -> None:
    assert EVERY_VERB.keys() == VERBS.keys()


@pytest.mark.parametrize("verb", EVERY_VERB)
def test_a_verb_says_the_same_in_a_process_of_its_own(run: Any, home: Path, tmp_path: Path, verb: str) -> None:
    """So the tests may call it in theirs."""

    def called(how: Callable[..., Done]) -> tuple[int, str, str, list[bytes]]:
        file = tmp_path / "made"
        done = how(verb, *(word.format(id=run["id"], file=file) for word in EVERY_VERB[verb]), home=home)
        assert "Traceback" not in done.stderr
        made = [path.read_bytes() for path in sorted(tmp_path.iterdir())]
        for path in tmp_path.iterdir():
            path.unlink()
        return done.returncode, done.stdout, done.stderr, made

    assert called(as_process) == called(in_process)


def test_show_agrees_with_run(run: Any, home: Path) -> None:
    shown = as_json("show", run["id"], home=home)
    run = {k: v for k, v in run.items() if k != "path"}
    assert shown == run


def test_show_by_prefix_judges_by_another_requirement_and_exits_by_it(run: Any, home: Path) -> None:
    prefix = run["id"][:-2]
    impossible = in_process("show", prefix, "--deadline", "1ns", "--p", "1e-3", "--json", home=home)
    verdict = json.loads(impossible.stdout)["verdict"]
    # Nobody knows of what was dropped, or cut off by the end, whether it was one.
    unknown = sum(lane["dropped"] + lane["truncated"] for lane in run["lanes"])
    assert verdict["due"] - unknown <= verdict["exceedances"] <= verdict["due"]
    assert (verdict["state"], impossible.returncode) in {("VIOLATED", 1), ("INVALID MEASUREMENT", 5)}


def test_the_terminal_shows_one_screen(run: Any, home: Path) -> None:
    done = in_process("show", run["id"], home=home)
    assert done.returncode == 0
    assert run["verdict"]["state"] in done.stdout
    assert "\x1b" not in done.stdout, "colour although stdout is no terminal"
    # The screen has 24 lines; warnings are always told, in one line each, and what makes it invalid in up to four.
    grave = sum({"warning": 1, "invalid": 4}.get(check["severity"], 0) for check in run["checks"])
    assert len(done.stdout.splitlines()) <= 24 + grave


@pytest.mark.parametrize("suffix", ["html", "md", "json", "txt"])
def test_reports(run: Any, home: Path, tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"r.{suffix}"
    done = in_process("report", run["id"], "-o", target, home=home)
    assert done.returncode == 0, done.stderr
    assert run["id"] in target.read_text()
    assert [p.name for p in tmp_path.iterdir()] == [target.name], "something was left beside the report"


def test_a_report_without_a_name_lies_beside_the_recordings(
    run: Any, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = in_process("report", run["id"], home=home)
    assert (
        done.stdout == f"{home / 'reports' / run['id']}.html\n" and run["id"] in Path(done.stdout.strip()).read_text()
    )
    assert list(tmp_path.iterdir()) == [], "the working directory is left alone"


def test_help_says_where_things_are_kept_what_is_imported_and_is_reached_by_h(home: Path) -> None:
    assert "RTASSAY_HOME" in in_process("-h", home=home).stdout
    told = "".join(in_process("import", "-h", home=home).stdout.split())
    assert [name for name in rooms.table("importers") if name not in told] == []
    assert in_process("run", "-h", home=home).stdout == in_process("run", "--help", home=home).stdout
    assert "did you mean RECORD-LATE" in in_process("checks", "LATE", home=home).stderr


@pytest.mark.parametrize("format_name", ["csv", "json", "cyclictest"])
def test_exports_hold_every_sample(run: Any, home: Path, format_name: str) -> None:
    done = in_process("export", run["id"], "--to", format_name, home=home)
    assert done.returncode == 0, done.stderr
    total = sum(lane["n"] for lane in run["lanes"])
    if format_name == "csv":
        header, *rows = done.stdout.splitlines()
        column = header.split(",").index("count")
        assert sum(int(row.split(",")[column]) for row in rows) == total
    elif format_name == "cyclictest":
        totals = next(line for line in done.stdout.splitlines() if line.startswith("# Total:"))
        overflow = next(line for line in done.stdout.splitlines() if line.startswith("# Histogram Overflows:"))
        assert sum(map(int, totals.split(":")[1].split())) + sum(map(int, overflow.split(":")[1].split())) == total
    else:
        assert json.loads(done.stdout)["id"] == run["id"]


def test_list_and_status_know_it(run: Any, home: Path) -> None:
    listed = as_json("list", home=home)["recordings"]
    assert run["id"] in [r["id"] for r in listed]
    status = as_json("status", run["id"], home=home)
    assert status["state"] == "sealed"
    assert [lane["n"] for lane in status["lanes"]] == [lane["n"] for lane in run["lanes"]]
    for lane, shown in zip(status["lanes"], run["lanes"], strict=True):
        assert lane["p50_ns"] == shown["quantiles"][0]["value_ns"] and lane["p99_9_ns"] is not None
    assert f"  {status['lanes'][0]['p50_ns'] / 1000:.1f}  " in in_process("status", run["id"], home=home).stdout


def test_status_without_a_name_lists_what_runs(run: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = in_process("status", home=home)
    assert (nothing.returncode, nothing.stdout) == (0, "") and "nothing is being recorded" in nothing.stderr
    with (Path(run["path"]) / LOCK).open("a") as lock:  # as the process that writes a recording holds it
        fcntl.flock(lock, fcntl.LOCK_EX)
        (one,) = as_json("status", home=home)["running"]
        assert (one["id"], one["planned_s"]) == (run["id"], 3)
        assert run["id"] in in_process("status", home=home).stdout


def test_a_run_without_a_deadline_has_no_verdict_and_exits_0_or_5(home: Path) -> None:
    done = as_process("run", "--duration", "1s", "--load", "none", "--json", home=home)
    shown = json.loads(done.stdout)
    assert shown["verdict"] is None
    broken = any(c["severity"] == "invalid" and c["kind"] == "integrity" for c in shown["checks"])
    assert done.returncode == (5 if broken else 0)


def test_a_cyclictest_line_can_be_pasted(home: Path) -> None:
    """It ends with cyclictest's own rows, then with the verdict."""
    file = home / "histogram.txt"
    line = ["cyclictest", "-m", "-n", "-S", "-p80", "-i500", "-h400", "-q", "-l2000", f"--histfile={file}"]
    done = as_process("run", *line, "--load", "none", home=home)
    assert done.returncode in (0, 5), done.stderr
    assert "not needed: -n:" in done.stderr
    shown = as_json("show", Path(done.stderr.rpartition("recording: ")[2].strip()), home=home)
    *rows, verdict = done.stdout.splitlines()
    for index, (row, lane) in enumerate(zip(rows, shown["lanes"], strict=True)):
        found = re.fullmatch(
            r"T: *(\d+) \( *(\d+)\) P:80 I:500 C: *(\d+) Min: *(\d+) Act: *(\d+) Avg: *(\d+) Max: *(\d+)", row
        )
        assert found is not None, row
        times = (lane["min_ns"], lane["mean_ns"], lane["max_ns"])
        assert [int(found[i]) for i in (1, 3)] == [index, lane["n"]]
        assert [int(found[i]) for i in (4, 6, 7)] == [int(time // 1000) for time in times]
        assert int(found[2]) > 0 and int(found[4]) <= int(found[5]) <= int(found[7])
    assert verdict.startswith(("NO REQUIREMENT STATED: ", "INVALID MEASUREMENT: "))
    assert file.read_text().startswith("# /dev/cpu_dma_latency") and "# Max Latencies:" in file.read_text()
    assert shown["interval_ns"] == 500_000
    # A machine that stood still for seconds may have reached the time limit of a count before the count.
    assert (shown["end_reason"] == "count") == all(lane["n"] == 2000 for lane in shown["lanes"])
    assert "-p80" in shown["cyclictest_equivalent"]


def test_break_above_exits_1_and_names_the_sample(home: Path) -> None:
    done = as_process("run", "--duration", "30s", "--load", "none", "--break-above", "1us", "--json", home=home)
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["end_reason"] == "break"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--priority", "0"], "--priority"),
        (["--priority", "100"], "--priority"),
        (["--interval", "1us"], "--interval"),
        (["--interval", "1h"], "--interval"),
        (["--interval", "2h"], "--interval: 2h is out of range"),
        (["--interval", "5 bananas"], "bananas"),
        (["--set", "spill"], "NAME=VALUE"),
        (["--set", "spil=5"], "did you mean 'spill'"),
        (["--set", "spill=-5"], "0 to 1000000 samples"),
        (["--set", "interval=1ms"], "write --interval"),
        (["--probe", "cyclictest", "--set", "spill=5"], "--set"),
        (["--duration", "0s"], "--duration"),
        (["--duration", "-1s"], "duration"),
        (["--count", "0"], "--count"),
        (["--cpus", "3-1"], "backwards"),
        (["--cpus", "4000"], "4000"),
        (["--load-cpus", "4000"], "4000"),
        (["--policy", "sporadic"], "sporadic"),
        (["--policy", "deadline", "--priority", "5"], "--priority"),
        (["--p", "1"], "--p"),
        (["--p", "-0.1"], "--p"),
        (["--confidence", "1"], "--confidence"),
        (["--deadline", "0us"], "--deadline"),
        (["--load", "fnord"], "fnord"),
        (["--probe", "fnord"], "fnord"),
        (["--label", "novalue"], "novalue"),
        (["--dma-latency", "maybe"], "maybe"),
        (["--warm-up", "soon"], "soon"),
        (["--break-above", "0us"], "--break-above"),
        (["--report", "x.docx"], "x.docx"),
        (["--report", "/no/such/dir/x.html"], "/no/such/dir"),
        (["--policy", "other", "--priority", "5"], "--priority"),
        (["--lanes", "9999"], "--lanes"),
        (["-d", "500"], "-d 500"),
        (["-v"], "-v"),
        (["pi5"], "pi5"),
        (["--fnord"], "--fnord"),
    ],
    ids=" ".join,
)
def test_what_is_out_of_range_is_named_and_nothing_is_measured(args: list[str], words: str, tmp_path: Path) -> None:
    done = in_process("run", "--duration", "1s", *args, home=tmp_path)
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not list(tmp_path.rglob("*.rta"))


@pytest.mark.parametrize(
    "verb",
    [
        ["show", "nosuch"],
        ["report", "nosuch"],
        ["export", "nosuch", "--to", "csv"],
        ["export", "x", "--to", "nosuch"],
        ["status", "nosuch"],
        ["import", "/no/such"],
        ["list", "--dir", "/no/such"],
        ["fnord"],
    ],
)
def test_what_is_not_there_is_said_with_exit_2(verb: list[str], tmp_path: Path) -> None:
    done = in_process(*verb, home=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert any(word in done.stderr for word in ("nosuch", "/no/such", "fnord"))


def test_a_place_that_cannot_be_written_is_exit_3(run: Any, home: Path) -> None:
    assert as_process("run", "--duration", "1s", "--output", "/proc/nowhere", home=home).returncode == 3
    assert in_process("report", run["id"], "-o", "/proc/r.html", home=home).returncode == 3


def processes_of(home: Path) -> list[str]:
    """Command lines of live processes that carry this home in their environment."""
    found = []
    for pid in Path("/proc").glob("[0-9]*"):
        try:
            if str(home).encode() in (pid / "environ").read_bytes():
                found.append((pid / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def wait_until(condition: Any, timeout_s: float = 180) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)


def start(home: Path, *args: str) -> subprocess.Popen[str]:
    env = {**os.environ, "RTASSAY_HOME": str(home)}
    argv = [str(RTASSAY), "run", "--json", *args]
    return subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def measuring(home: Path) -> bool:
    """Whether the newest recording of `home` has seen a second of samples of each lane."""
    recordings = sorted(home.rglob("*.rta"))
    if not recordings:
        return False
    done = in_process("status", recordings[-1], "--json", home=home)
    lanes = json.loads(done.stdout)["lanes"] if done.returncode == 0 else []
    return bool(lanes) and all(lane["n"] > 0 for lane in lanes)


def test_ctrl_c_seals_what_there_is(tmp_path: Path) -> None:
    process = start(tmp_path, "--duration", "600s", "--load", "builtin:timer", "--interval", "1ms")
    wait_until(lambda: measuring(tmp_path) or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=180)
    assert process.returncode == 130, errors
    shown = json.loads(out)
    assert shown["sealed"] and shown["end_reason"] == "signal"
    for lane in shown["lanes"]:
        assert lane["due"] == lane["n"] + lane["missed"] + lane["dropped"] + lane["truncated"]
        assert 0 < lane["due"] < 600_000
    wait_until(lambda: processes_of(tmp_path) == [])


def test_a_killed_host_leaves_no_process_and_a_readable_recording(tmp_path: Path) -> None:
    process = start(tmp_path, "--duration", "600s", "--load", "builtin:timer", "--interval", "1ms")
    wait_until(lambda: measuring(tmp_path))
    process.kill()
    process.communicate(timeout=180)
    wait_until(lambda: processes_of(tmp_path) == [])
    (recording,) = tmp_path.rglob("*.rta")
    shown = as_json("show", recording, home=tmp_path)
    assert shown["sealed"] is False
    assert all(lane["n"] > 0 for lane in shown["lanes"])
    assert as_json("status", recording, home=tmp_path)["state"].endswith("not sealed")
    assert in_process("seal", recording, home=tmp_path).returncode == 0
    assert as_json("show", recording, home=tmp_path)["sealed"] is True


@pytest.fixture
def anybodys() -> Iterator[Path]:
    """A directory that every user may write to. Those of pytest are closed again by each pytest that starts."""
    with tempfile.TemporaryDirectory(prefix="rtassay-") as made:
        Path(made).chmod(0o777)
        yield Path(made)


@pytest.mark.skipif(os.getuid() != 0, reason="is about what root may and others may not")
def test_without_permission_it_measures_and_says_what_that_does_to_the_verdict(anybodys: Path) -> None:
    env = {**os.environ, "RTASSAY_HOME": str(anybodys / "home"), "HOME": str(anybodys)}
    # One right is kept: to get to rtassay, should the checkout lie in a home that is closed to others.
    kept = ["--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"]
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", *kept, "--no-new-privs"]
    argv = [
        *nobody,
        str(RTASSAY),
        "run",
        "--duration",
        "2s",
        "--load",
        "none",
        "--deadline",
        "10ms",
        "--p",
        "1e-3",
        "--json",
    ]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=300)
    if "Permission denied" in done.stderr and not done.stdout:
        pytest.fail(f"nobody cannot run {RTASSAY}: {done.stderr}")
    assert done.returncode == 5, done.stderr
    shown = json.loads(done.stdout)
    severity = {c["id"]: c["severity"] for c in shown["checks"]}
    assert severity["NOT-RT-POLICY"] == "invalid"
    assert shown["verdict"]["state"] == "INVALID MEASUREMENT"
    asked = subprocess.run([*argv, "--priority", "80"], env=env, capture_output=True, text=True, timeout=300)
    assert asked.returncode == 3
    assert "SCHED_FIFO" in asked.stderr
