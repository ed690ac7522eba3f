"""rtassay figure and rtassay table as a user meets them, and the same recordings from Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import as_process, in_process

import rtassay
from rtassay.model.errors import UsageError

DATA = Path(__file__).parents[1] / "data"
MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF-"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def ids(home: Path) -> dict[str, str]:
    """stock and rt: the published histograms; jitter: samples of jitterdebugger; run: two seconds of this machine."""
    files = {
        "stock": (DATA / "histograms/rpi3b-4.14.27-std.hist.csv", "kernel=stock"),
        "rt": (DATA / "histograms/rpi3b-4.14.27-rt.hist.csv", "kernel=rt"),
        "jitter": (DATA / "importers/jitterdebugger-raw/us.ok.raw", "kernel=jitter"),
    }
    made = {}
    for name, (path, label) in files.items():
        done = in_process("import", path, "--label", label, "--label", "set=published", "--json", home=home)
        assert done.returncode == 0, done.stderr
        made[name] = json.loads(done.stdout)["recordings"][0]["id"]
    done = as_process("run", "--duration", "2s", "--interval", "1ms", "--load", "none", "--json", home=home)
    assert done.returncode in (0, 5), done.stderr
    made["run"] = json.loads(done.stdout)["id"]
    return made


@pytest.mark.parametrize("format_name", MAGIC)
@pytest.mark.parametrize("kind", ["latency", "ccdf"])
def test_one_command_a_figure(kind: str, format_name: str, ids: dict[str, str], home: Path, tmp_path: Path) -> None:
    target = tmp_path / f"figure.{format_name}"
    done = in_process("figure", kind, ids["stock"], ids["rt"], "-o", target, "--width", "column", home=home)
    assert (done.returncode, done.stdout.strip()) == (0, str(target)), done.stderr
    assert target.read_bytes().startswith(MAGIC[format_name])


@pytest.mark.parametrize("format_name", MAGIC)
def test_another_process_draws_the_same_bytes(
    format_name: str, ids: dict[str, str], home: Path, tmp_path: Path
) -> None:
    here, there = tmp_path / f"here.{format_name}", tmp_path / f"there.{format_name}"
    for how, target in ((in_process, here), (as_process, there)):
        assert how("figure", "ccdf", ids["rt"], "-o", target, "--width", "column", home=home).returncode == 0
    assert here.read_bytes() == there.read_bytes()


@pytest.mark.parametrize("kind", ["tail", "cdf", "overlay", "trend", "latency"])
def test_a_label_names_the_recordings(kind: str, ids: dict[str, str], home: Path, tmp_path: Path) -> None:
    target = tmp_path / "figure.svg"
    done = in_process("figure", kind, "set=published", "-o", target, "--width", "column", "--json", home=home)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["schema"] == "rtassay/figure/1"
    assert sorted(told["ids"]) == sorted((ids["stock"], ids["rt"], ids["jitter"]))
    assert "382 µs" in target.read_text()


def test_time_from_rollups_and_from_samples_but_not_from_a_histogram(
    ids: dict[str, str], home: Path, tmp_path: Path
) -> None:
    for name in ("run", "jitter"):
        assert in_process("figure", "time", ids[name], "-o", tmp_path / f"{name}.png", home=home).returncode == 0
    refused = in_process("figure", "time", ids["rt"], "-o", tmp_path / "rt.png", home=home)
    assert refused.returncode == 2
    assert "not when" in refused.stderr
    assert not (tmp_path / "rt.png").exists()


def test_tables(ids: dict[str, str], home: Path, tmp_path: Path) -> None:
    shown = in_process("table", "cores", ids["stock"], home=home)
    assert "| core1 | 50,000,000 | 5 | 13.49 | 382 | - | - |" in shown.stdout
    assert in_process("table", "tail", ids["stock"], ids["rt"], "-o", tmp_path / "t.csv", home=home).returncode == 0
    assert (tmp_path / "t.csv").read_text().splitlines()[1].startswith("stock,199999704,13.65,17,17,17,exact")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("figure", "pie", "X", "-o", "f.png"), "latency"),
        (("figure", "ccdf", "X"), "--output"),
        (("figure", "ccdf", "nothing", "-o", "f.png"), "nothing"),
        (("table", "cores", "nothing"), "nothing"),
        (("table", "cores", "nothing", "--json"), "stdout"),
    ],
)
def test_what_is_wrong_is_said(args: tuple[str, ...], said: str, home: Path, ids: dict[str, str]) -> None:
    done = in_process(*args, home=home)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_suffix_that_is_no_format_and_a_key_that_nobody_has(home: Path, ids: dict[str, str], tmp_path: Path) -> None:
    assert ".png, .svg, .pdf" in in_process("figure", "ccdf", ids["rt"], "-o", tmp_path / "f.gif", home=home).stderr
    unknown = in_process("figure", "tail", ids["rt"], "-o", tmp_path / "f.png", "--by", "colour", home=home)
    assert unknown.returncode == 2
    assert "known: kernel" in unknown.stderr


@pytest.fixture
def opened(ids: dict[str, str], home: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("RTASSAY_HOME", str(home))
    return {name: rtassay.open(ident) for name, ident in ids.items()}


def test_tables_come_as_arrow_and_add_up(opened: dict[str, Any]) -> None:
    import pyarrow.compute as pc

    for recording in opened.values():
        table = recording.histogram()
        assert table.column_names == ["lane", "lower_ns", "width_ns", "count"]
        for entry in recording.lanes:
            counts = pc.sum(table.filter(pc.equal(table["lane"], entry.index))["count"]).as_py()
            assert counts == entry.n - (entry.over or 0)
    for name in ("run", "jitter"):
        samples = opened[name].samples()
        assert samples.num_rows == sum(entry.n for entry in opened[name].lanes)
        one = opened[name].samples(opened[name].lanes[1].name)
        assert set(one["lane"].to_pylist()) == {1}
        assert one.equals(opened[name].samples(1))
    seconds = opened["run"].seconds()
    assert pc.sum(seconds["n"]).as_py() == sum(entry.n for entry in opened["run"].lanes)


def test_what_a_recording_does_not_hold_is_said(opened: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="keeps no samples"):
        opened["rt"].samples()
    with pytest.raises(UsageError, match="no rollups"):
        opened["rt"].seconds()
    with pytest.raises(UsageError, match="no lane 'core9'"):
        opened["jitter"].samples("core9")
    with pytest.raises(UsageError, match="no latency over time"):
        opened["rt"].plot_time()


def test_plots_findings_and_the_table_of_a_notebook(opened: dict[str, Any]) -> None:
    for recording in opened.values():
        for plot in (recording.plot_latency, recording.plot_ccdf, recording.plot_tail):
            assert plot(width="column")._repr_png_().startswith(b"\x89PNG")
        page = recording._repr_html_()
        assert page.count("<tr>") == len(recording.lanes) + 2
        assert recording.id in page
    assert opened["run"].plot_time(deadline="100us")._repr_png_().startswith(b"\x89PNG")
    assert opened["rt"].findings(deadline="60us").verdict.state == "VIOLATED"
    assert opened["rt"].findings(deadline=60_000).verdict == opened["rt"].findings(deadline="60us").verdict


def test_compare_is_that_of_the_command_line(opened: dict[str, Any]) -> None:
    found = rtassay.compare([opened["stock"]], [opened["rt"].path])
    assert found.crossover is not None
    assert found.crossover.value_ns == 95_000
