"""`rtassay causes --confirm` with two measured sides: faults of known kind in virtual time, with one of two kinds and without it."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import known_causes
import pytest
import rtfault
from known_causes import FAULTS, HITS

from rtassay.boards.binaries import probe_path
from rtassay.lab import quick
from rtassay.lab.arches import arch_named
from rtassay.lab.script import ScriptBoard

from ..support.command_line import in_process

pytestmark = pytest.mark.full

LENGTH_US = 1000
OFF, TIMER = "interrupts-off:rtfault_i", "hrtimer:rtfault_hrtimer [rtfault]"
BOTH = "ih"


@pytest.fixture(scope="module", params=["stock", "rt"])
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of three recordings of one kernel, named by the letters of the faults that were injected."""
    kernel, home = request.param, tmp_path_factory.mktemp("home")
    module = rtfault.build(kernel, tmp_path_factory.mktemp("rtfault"))
    image = quick.cached(arch_named("amd64")) or quick.build(arch_named("amd64"), print)
    files = {"bin/rtprobe": probe_path("x86_64").read_bytes(), "rtfault.ko": module}
    for letters in (BOTH, "h", "i"):
        script = plan(kernel, letters)
        result = ScriptBoard(image.kernels[kernel], image.initramfs.read_bytes(), files, script).run(900)
        assert result.exit_code == 0, result.console[-2000:]
        with tempfile.NamedTemporaryFile(suffix=".rtw") as stream:
            stream.write(result.stream)
            stream.flush()
            done = in_process("import", stream.name, "--name", letters, home=home)
        assert done.returncode == 0, done.stderr
    return home


def plan(kernel: str, letters: str) -> str:
    """One run of the same length whatever is injected, at the phase of the lane's due times."""
    traced_ms = len(BOTH) * 1300 + 3000
    lines = ["set -e; insmod /rtfault.ko", *known_causes.begun(traced_ms)]
    for fault in (fault for fault in FAULTS if fault.letter in letters):
        lines += [known_causes.SOON, known_causes.planned(fault, kernel, LENGTH_US, "rtfault"), "sleep 1"]
    return "\n".join([*lines, "wait $probe", ""])


def confirmed(home: Path, cause: str, without: str) -> tuple[int, dict[str, object]]:
    words = ("causes", BOTH, "--deadline", "500us", "--p", "0.006", "--confirm", cause, "--with", without, "--json")
    done = in_process(*words, home=home)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_a_prediction_comes_true_and_a_cause_that_stayed_is_told(runs: Path) -> None:
    for cause, without in ((OFF, "h"), (TIMER, "i")):
        code, found = confirmed(runs, cause, without)
        assert (code, found["state"], found["share_after"]) == (0, "agrees", 0.0), found
        # One fault of twenty may begin behind its wake-up.
        assert 2 * HITS - 1 <= found["exceedances_before"] <= 2 * HITS
        assert abs(found["exceedances_predicted"] - HITS) <= 1 and abs(found["exceedances_after"] - HITS) <= 1
        assert found["demonstrated_predicted_ns"] < found["demonstrated_before_ns"] > found["demonstrated_after_ns"]
    code, found = confirmed(runs, OFF, "i")
    assert (code, found["state"]) == (1, "not-removed") and found["share_after"] > found["share_before"]
