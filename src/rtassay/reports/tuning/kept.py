"""Settings that a board is to have after every boot: the files that make them, and the line that removes those."""

from __future__ import annotations

import shlex

from rtassay.model.foreign import one_line
from rtassay.model.tuning import KEPT_SYSCTL, KEPT_UNIT, KeptFile, TuningPlan
from rtassay.reports.proof.settings import Line, held_command, in_a_unit, is_hold, line_of, shell_command

_HEAD = "# Made by `rtassay tune --keep`."


def kept_files(plan: TuningPlan) -> tuple[tuple[KeptFile, ...], tuple[str, ...]]:
    """The files for a plan, and what they cannot hold, a line each: threads, cgroups, interrupts of one boot."""
    sysctls: list[str] = []
    commands: list[str] = []
    held: list[str] = []
    left: list[str] = []
    for setting in plan.settings:
        for line in (line_of(setting.id, action) for action in setting.actions):
            what = f"# {line.id}"
            if line.is_sysctl:
                sysctls += [what, f"{line.key} = {line.value}"]
            elif is_hold(line):
                held.append(held_command(line))
            elif _of_one_boot(line) or (command := shell_command(line)) is None:
                left.append(one_line(f"{line.id}: {line.kind} {line.key} {line.value}".rstrip(), 200))
            else:
                commands += [what, f"ExecStartPre=/bin/sh -c {in_a_unit(command)}"]
    files = []
    if sysctls:
        files.append(KeptFile(KEPT_SYSCTL, "\n".join((_HEAD, *sysctls)) + "\n"))
    if commands or held:
        files.append(KeptFile(KEPT_UNIT, _unit(commands, held)))
    return tuple(files), tuple(dict.fromkeys(left))


def removal(files: tuple[KeptFile, ...]) -> str:
    """The shell line that removes them; what they have set stays until the next boot."""
    paths = [file.path for file in files]
    disable = f"systemctl disable {KEPT_UNIT.rpartition('/')[2]}; " if KEPT_UNIT in paths else ""
    return f"{disable}rm {' '.join(shlex.quote(path) for path in paths)}"


def _of_one_boot(line: Line) -> bool:
    """Numbers of interrupts differ from boot to boot."""
    return line.key.startswith("/proc/irq/") and line.key.split("/")[3].isdigit()


def _unit(commands: list[str], held: list[str]) -> str:
    rows = (
        "[Unit]",
        "Description=Settings kept by rtassay tune",
        "After=sysinit.target",
        "[Service]",
        "Type=exec",
        *commands,
        f"ExecStart=/bin/sh -c {in_a_unit('; '.join([*held, 'exec sleep infinity']))}",
        "[Install]",
        "WantedBy=multi-user.target",
    )
    return "\n".join((_HEAD, *rows)) + "\n"
