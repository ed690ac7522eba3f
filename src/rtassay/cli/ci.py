"""--junit, --ktap and --summary: what a CI job keeps of a result."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from rtassay.model.errors import BoardError, RtassayError, UsageError

FILES = ("junit", "ktap", "summary")


def ci_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--junit, --ktap and --summary: they are checked before the command, which calls `write`. Where it comes to no result, an error is written,
    so that no file of an earlier job is taken for this one."""

    @functools.wraps(command)
    def told(**options: Any) -> Any:
        check(options)
        try:
            return command(**options)
        except RtassayError as error:
            _write_error(options, error)
            raise

    made: Callable[..., Any] = told
    for option in (
        click.option(
            "--summary",
            metavar="FILE",
            help="Append a few lines of Markdown, for a pull request or $GITHUB_STEP_SUMMARY.",
        ),
        click.option(
            "--ktap", metavar="FILE", help="Write the result as KTAP; '-' is stdout, in place of the usual text."
        ),
        click.option(
            "--junit",
            metavar="FILE",
            help="Write the result as JUnit XML. A run that measured nothing is an error in it.",
        ),
    ):
        made = option(made)
    return made


def check(options: dict[str, Any]) -> None:
    """Raise UsageError for a file that cannot be written, before anything is measured."""
    for name in FILES:
        file = options.get(name)
        if file is None or (file == "-" and name == "ktap"):
            continue
        if file == "-":
            raise UsageError(f"--{name} needs a file")
        parent = Path(file).resolve().parent
        if not parent.is_dir():
            raise UsageError(f"--{name} {file}: there is no directory {parent}")
    if options.get("ktap") == "-" and options.get("as_json"):
        raise UsageError("--json and --ktap - both want stdout")


def taken(options: dict[str, Any]) -> dict[str, str | None]:
    """These options alone, taken out of all options of a verb."""
    return {name: options.pop(name) for name in FILES}


def on_stdout(options: dict[str, Any]) -> bool:
    """Whether KTAP takes the place of the usual text."""
    return bool(options.get("ktap") == "-")


def write(options: dict[str, Any], subject: Any) -> None:
    """Write what was asked for about a judged recording, a comparison or an experiment. Raises BoardError."""
    from rtassay import reports
    from rtassay.cli.report import write_bytes

    for name in FILES:
        file = options.get(name)
        if file is None:
            continue
        data = reports.load(type(subject), name).render(subject)
        if name == "summary":
            _append(Path(file), data)
        else:
            write_bytes(file, data)


def _write_error(options: dict[str, Any], error: RtassayError) -> None:
    """The error in place of a result. What cannot be written is left: the error itself goes to stderr."""
    from rtassay.cli.report import write_bytes
    from rtassay.model.foreign import markdown
    from rtassay.reports import ci

    asked = {name: file for name in FILES if (file := options.get(name)) is not None}
    if not asked:
        return
    context = click.get_current_context(silent=True)
    name = " ".join(filter(None, ("rtassay" if context is None else context.command_path, options.get("board"))))
    suite = ci.Suite(name, (ci.Case("measurement", ci.ERROR, "NO RESULT", str(error)),))
    lines = f"### NO RESULT\n\n{markdown(name)}\n\n{markdown(str(error))}\n".encode("utf-8", "backslashreplace")
    made = {"junit": ci.junit(suite), "ktap": ci.ktap(suite), "summary": lines}
    for what, file in asked.items():
        with contextlib.suppress(RtassayError):
            if what == "summary":
                _append(Path(file), lines)
            else:
                write_bytes(file, made[what])


def _append(file: Path, data: bytes) -> None:
    """All of it, or the file as it was. Raises BoardError."""
    try:
        before = file.stat().st_size if file.is_file() else None
        try:
            with file.open("ab") as opened:
                opened.write(data + b"\n")
        except OSError:
            with contextlib.suppress(OSError):
                if before is not None:
                    os.truncate(file, before)
                elif file.is_file():
                    file.unlink()
            raise
    except OSError as error:
        raise BoardError(f"cannot write {file}", error.strerror, "name another file with --summary") from error
