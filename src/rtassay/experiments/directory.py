"""An experiment on disk: `experiment.toml` (the file as it was), `plan.json`, `journal.jsonl`, `recordings/`, `experiment.json`.

It is a home of recordings like any other: `RTASSAY_HOME=DIR rtassay compare load=idle --with load=all` works in it.
"""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from rtassay.experiments.journal import JOURNAL
from rtassay.experiments.matrix import ExperimentPlan
from rtassay.model.errors import CorruptRecording, NewerFormat, UsageError
from rtassay.model.files import read_regular
from rtassay.store.disk import explain, write_replacing
from rtassay.store.paths import home, make_directory
from rtassay.store.writer import Lock, is_running

FILE = "experiment.toml"
PLAN = "plan.json"
RESULT = "experiment.json"
RECORDINGS = "recordings"
_SCHEMA = "rtassay/experiment-plan/1"


def default_directory(name: str) -> Path:
    """Directory of an experiment without `-o`: `experiments/NAME-TIME` beside `recordings`."""
    base = home().parent / "experiments"
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    return base / f"{name}-{stamp}"


def create(path: Path, text: bytes, plan: ExperimentPlan) -> Path:
    """A new experiment at `path`, made from a file with this text. Raises UsageError if `path` holds an experiment or other files."""
    if is_experiment(path):
        raise UsageError(f"there is an experiment in {path} already", hint=f"rtassay experiment resume {path}")
    if path.exists() and not (path.is_dir() and all(_is_of_a_failed_creation(entry) for entry in path.iterdir())):
        raise UsageError(f"{path} exists and is not an experiment", hint="name a new or empty directory")
    make_directory(path)
    make_directory(path / RECORDINGS)
    write_replacing(path / FILE, text, "nothing was measured")
    # The plan comes last: it makes the directory an experiment.
    write_replacing(
        path / PLAN, msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n", "nothing was measured"
    )
    return path


def _is_of_a_failed_creation(entry: Path) -> bool:
    """A full disk leaves the text without its plan, and room for recordings."""
    return entry.name in (FILE, "lock") or (entry.name == RECORDINGS and entry.is_dir() and not any(entry.iterdir()))


def is_experiment(path: Path) -> bool:
    return (path / PLAN).is_file()


def load_plan(path: Path) -> ExperimentPlan:
    """The plan of the experiment at `path`. Raises UsageError if there is none, CorruptRecording, NewerFormat."""
    file = path / PLAN
    try:
        data = read_regular(file)
    except OSError as error:
        raise UsageError(f"{path} is not an experiment", f"{PLAN}: {explain(error)}") from error
    try:
        head = msgspec.json.decode(data)
        if isinstance(head, dict) and head.get("schema") != _SCHEMA:
            raise NewerFormat(
                f"{file} is of another version", f"schema '{head.get('schema')}'; this rtassay reads {_SCHEMA}"
            )
        return msgspec.json.decode(data, type=ExperimentPlan)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CorruptRecording(f"{file} is damaged", str(error)) from error


def find(name: str, *, plan: ExperimentPlan | None = None) -> Path:
    """The experiment a person means: its directory, or (with the plan of a file or preset) the newest experiment of the same plan.

    Raises UsageError that lists the places searched.
    """
    path = Path(name).expanduser()
    if is_experiment(path):
        return path
    base = home().parent / "experiments"
    known = sorted((p for p in base.glob("*") if is_experiment(p)), key=lambda p: (p / PLAN).stat().st_mtime)
    if plan is not None:
        same = [p for p in known if load_plan(p).hash == plan.hash]
        if same:
            return same[-1]
    elif (base / name) in known:
        return base / name
    some = ", ".join(p.name for p in known[-4:])
    raise UsageError(
        f"there is no experiment '{name}'",
        f"it is no directory of one, and {base} holds none {'of that plan' if plan else 'of that name'}",
        f"the newest are {some}" if some else "rtassay experiment run FILE makes one",
    )


class ExperimentLock:
    """A lock held by the process that carries out an experiment. A second process is refused; a dead process holds no lock."""

    def __init__(self, path: Path) -> None:
        try:
            self._lock = Lock(path)
        except UsageError as error:
            raise UsageError(
                f"{path} is being carried out already", error.why, f"look with rtassay experiment status {path}"
            ) from error

    def release(self) -> None:
        self._lock.release()


def is_carried_out(path: Path) -> bool:
    """Whether a live process carries out the experiment."""
    return is_running(path)


def last_written_s(path: Path) -> float:
    """Time of the last write to the experiment (journal, recordings), in seconds of the epoch; 0 if there was none."""
    newest = 0.0
    for file in [path / JOURNAL, *(path / RECORDINGS).glob("*.rta/*")]:
        try:
            newest = max(newest, file.stat().st_mtime)
        except OSError:
            continue
    return newest
