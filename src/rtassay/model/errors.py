"""Errors are facts here and words in one place (`cli.main`): what went wrong, why, and what to do about it."""

from __future__ import annotations

import errno
from typing import Final

from rtassay.model.foreign import clean

EXIT_OK = 0
EXIT_VIOLATED = 1
EXIT_USAGE = 2
EXIT_BOARD = 3
EXIT_NOT_DEMONSTRATED = 4
EXIT_INVALID = 5
EXIT_BUG = 70
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143


class RtassayError(Exception):
    """Base of every expected failure. `what` names it, `why` gives the cause, `hint` the next step.

    What a board or a file said may be part of them: they pass the filter of `foreign`.
    """

    exit_code = EXIT_BUG

    def __init__(self, what: str, why: str | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = clean(what)
        self.why = None if why is None else clean(why)
        self.hint = hint

    def __str__(self) -> str:
        return self.what if self.why is None else f"{self.what}: {self.why}"


class UsageError(RtassayError):
    """A wrong option, configuration or input file (exit 2)."""

    exit_code = EXIT_USAGE


class InputFileError(UsageError):
    """A file that cannot be read as what it claims to be (exit 2)."""


class CorruptRecording(InputFileError):
    """A recording whose parts are missing, damaged or disagree (exit 2)."""


class NewerFormat(InputFileError):
    """Written by a newer rtassay or rtprobe than this one (exit 2)."""


def both_stated(p: str, at_most: str) -> UsageError:
    """A requirement in shares of activations and one in events, named as the person wrote them."""
    return UsageError(
        f"{p} and {at_most} are both stated",
        "a requirement is a share of activations or a number of events",
        f"leave out {p}, or judge the recording once by each",
    )


class BoardError(RtassayError):
    """Board, transport, environment or a full disk (exit 3)."""

    exit_code = EXIT_BOARD


class ToolMissing(BoardError):
    """A program that the board does not have (exit 3)."""


class RunLost(BoardError):
    """The board has lost its data of a run: asking again will not help (exit 3)."""


_OF_THE_MACHINE: Final = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EFBIG)
)


def environment_error(error: OSError) -> BoardError | None:
    """What a full or broken disk, or a lack of memory or files, is told as; None for an error that is a bug of ours."""
    if error.errno not in _OF_THE_MACHINE:
        return None
    return BoardError(f"cannot use {error.filename or 'a file or a device'}", error.strerror)
