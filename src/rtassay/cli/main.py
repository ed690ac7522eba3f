"""Entry point: finds the verb, and turns errors into words and exit codes in one place."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from typing import Any

import click

from rtassay import __version__
from rtassay.cli import streams
from rtassay.cli.terminal import echo
from rtassay.cli.verbs import GROUPS, VERBS, command_of
from rtassay.model.errors import (
    EXIT_BOARD,
    EXIT_BUG,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    RtassayError,
    UsageError,
    environment_error,
)
from rtassay.model.foreign import is_utf8


class LazyGroup(click.Group):
    """Imports a verb's module only when the verb is called, so that --help is fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        return command_of(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            import difflib

            close = difflib.get_close_matches(args[0], VERBS, n=1)
            hint = f" Did you mean '{close[0]}'?" if close else f" Known: {', '.join(VERBS)}."
            raise click.UsageError(f"there is no command '{args[0]}'.{hint}")
        name, command, rest = super().resolve_command(ctx, args)
        if name is None or command is None or name == "config" or ctx.resilient_parsing:
            return name, command, rest
        if not {"--help", "-h"} & set(rest):
            from rtassay.cli.config_file import defaults_for

            ctx.default_map = {name: defaults_for(name, command)}
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, VERBS[name][1]) for name in names if name in VERBS])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100})
@click.version_option(__version__, prog_name="rtassay")
def cli() -> None:
    """Does this board, with this kernel, under this load, meet my deadline? And if not, what broke it?

    \b
    First steps:
      rtassay run --deadline 100us              this machine, 60 s under load, judged
      rtassay run cyclictest -m -S -p90 -i200   the line you know
      rtassay list                              your recordings
      rtassay report RUN -o report.html         a page to send

    \b
    Exit codes: 0 done, or a stated deadline HOLDS; 1 VIOLATED; 2 usage or input; 3 board or
    environment; 4 NOT DEMONSTRATED; 5 INVALID MEASUREMENT; 130 interrupted, recording sealed.

    \b
    Recordings, reports, experiments and names of boards are kept in RTASSAY_HOME, else in
    $XDG_DATA_HOME/rtassay (~/.local/share/rtassay). Defaults of options: rtassay config.
    """


def tell(error: RtassayError) -> None:
    """Print one sentence and the next step on stderr."""
    echo(f"rtassay: {error}", err=True)
    if error.hint:
        echo(f"  {error.hint}", err=True)


def main(argv: list[str] | None = None) -> None:
    """Run the command line and exit with the code of docs/architecture.md."""
    streams.prepare()
    code = run(sys.argv[1:] if argv is None else argv)
    with contextlib.suppress(RtassayError):  # after an error, which is reported already
        sys.stdout.flush()
    sys.exit(code)


def run(argv: list[str]) -> int:
    """The exit code of one command line."""
    try:
        code = _code_of(argv)
        sys.stdout.flush()
        return code
    except RtassayError as error:
        tell(error)
        return error.exit_code
    except click.ClickException as error:
        said = io.StringIO()
        error.show(said)
        echo(said.getvalue().rstrip("\n"), err=True)  # filtered: it repeats what was typed
        return EXIT_USAGE
    except (click.Abort, KeyboardInterrupt):
        echo("rtassay: interrupted", err=True)
        return EXIT_INTERRUPTED
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            tell(UsageError(f"'{str(error.filename)[:40]}...' is longer than a name of a file can be"))
            return EXIT_USAGE
        of_machine = environment_error(error)
        if of_machine is None:
            return _bug(error, argv)
        tell(of_machine)
        return EXIT_BOARD
    except Exception as bug:
        return _bug(bug, argv)


def _bug(bug: Exception, argv: list[str]) -> int:
    if os.environ.get("RTASSAY_DEBUG"):
        raise bug
    echo(
        f"rtassay: a bug in rtassay {__version__}: {type(bug).__name__}: {bug}\n"
        f"  please report it with this line and the output of: RTASSAY_DEBUG=1 rtassay {' '.join(argv)}",
        err=True,
    )
    return EXIT_BUG


def _check_words(argv: list[str]) -> None:
    """Only the name of a file that exists may have bytes that are not UTF-8: all other words go into recordings and messages."""
    for word in argv:
        if not is_utf8(word) and not os.path.lexists(word):
            raise UsageError(
                f"'{word}' is not UTF-8", "it has bytes that no text has", "type it anew, or set a UTF-8 locale"
            )


def _check_completion() -> None:
    """A variable of the completion that was left set takes every command line for a question of the shell."""
    if os.environ.get("_RTASSAY_COMPLETE", "").endswith("_complete") and "COMP_WORDS" not in os.environ:
        raise UsageError("_RTASSAY_COMPLETE is set, but no shell asks", hint="unset _RTASSAY_COMPLETE")


def _code_of(argv: list[str]) -> int:
    _check_words(argv)
    _check_completion()
    try:
        code: Any = cli.main(args=argv, prog_name="rtassay", standalone_mode=False)
    except click.exceptions.Exit as ended:
        return int(ended.exit_code)
    return int(code) if isinstance(code, int) else 0


if __name__ == "__main__":
    main()
