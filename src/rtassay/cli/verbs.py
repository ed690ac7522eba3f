"""The verbs of rtassay: in which module each one lives, what it is for, and the groups of the help page."""

from __future__ import annotations

from importlib import import_module
from typing import Final

import click

# In the order of the work; each module holds one command named `command`.
VERBS: Final = {
    "plan": ("rtassay.cli.plan", "How long to measure, and with what chance of success."),
    "run": ("rtassay.cli.run", "Measure a board, record it, judge it, report it."),
    "throughput": (
        "rtassay.cli.throughput",
        "What a kernel gets done: fixed works, beside the latency it demonstrates.",
    ),
    "exec": ("rtassay.cli.exec", "Measure a program of your own: response and execution time of each run of it."),
    "import": (
        "rtassay.cli.import_",
        "Turn files of cyclictest, rtla, jitterdebugger, CSV and others into recordings.",
    ),
    "experiment": ("rtassay.cli.experiment", "Matrices of runs: plan, run, resume, status, show."),
    "presets": ("rtassay.cli.presets", "Experiments that come with rtassay, and their purpose."),
    "list": ("rtassay.cli.list_", "List the recordings."),
    "status": ("rtassay.cli.status", "State of a running or unsealed recording."),
    "watch": ("rtassay.cli.watch", "The live table of a run that another terminal started."),
    "show": ("rtassay.cli.show", "One recording: verdict, figures, checks."),
    "compare": ("rtassay.cli.compare", "Groups of recordings against each other, run by run."),
    "causes": ("rtassay.cli.causes", "Why wake-ups were late, by the kernel's trace: causes, and what each is worth."),
    "zoom": ("rtassay.cli.zoom", "A recorded run once more, with stacks: the functions that made wake-ups late."),
    "explain": ("rtassay.cli.explain", "Why the threads of your own program run late, by the kernel's trace."),
    "extrapolate": ("rtassay.cli.extrapolate", "What is exceeded once in 1e8: with an interval, or a refusal."),
    "report": ("rtassay.cli.report", "A recording as an HTML, Markdown or JSON page."),
    "figure": ("rtassay.cli.figure", "Figures for papers: PNG, SVG, PDF."),
    "table": ("rtassay.cli.table", "Tables for papers: Markdown, CSV."),
    "export": ("rtassay.cli.export", "A recording's data as csv, json, cyclictest text or a Perfetto trace."),
    "published": ("rtassay.cli.published", "Published results of others, to compare with your own."),
    "label": ("rtassay.cli.label", "Labels and notes of finished recordings."),
    "rm": ("rtassay.cli.rm", "Put recordings into the trash, or take them back."),
    "prune": ("rtassay.cli.prune", "Free the space of old recordings."),
    "seal": ("rtassay.cli.seal", "Seal a recording whose host died."),
    "checks": ("rtassay.cli.checks", "The validity checks, their meaning and the remedies."),
    "doctor": ("rtassay.cli.doctor", "Settings of a board that bear on latency: wrong, unknown, fine."),
    "tune": ("rtassay.cli.tune", "Change settings of a board for a while, and put them back."),
    "prove": ("rtassay.cli.prove", "Measure what each setting of a plan is worth on a board."),
    "board": ("rtassay.cli.board", "Boards: name them, look at them, clear them."),
    "kernel": ("rtassay.cli.kernel", "Kernels: build, deploy, list, use, install, remove."),
    "image": ("rtassay.cli.image", "A bootable card for a board, from Debian, with the kernels to compare."),
    "lab": ("rtassay.cli.lab", "Virtual boards with real kernels, to try it all without hardware."),
    "gate": ("rtassay.cli.gate", "A latency regression of a kernel, found in virtual time, without hardware."),
    "probe": ("rtassay.cli.probe", "The programs that measure: list, settings, self-test."),
    "config": ("rtassay.cli.config", "Defaults of options, kept in a file."),
    "completion": ("rtassay.cli.completion", "Completion for bash, zsh and fish."),
}

GROUPS: Final = {
    "The first hour": ("run", "list", "show", "report", "compare", "watch", "checks", "doctor", "import", "lab"),
    "Measure": ("exec", "throughput", "experiment", "presets", "status", "seal"),
    "Judge": ("plan", "extrapolate", "published"),
    "Explain": ("causes", "zoom", "explain"),
    "Improve": ("tune", "prove"),
    "Boards and kernels": ("board", "kernel", "image", "gate", "probe"),
    "Recordings": ("export", "figure", "table", "label", "rm", "prune"),
    "Comfort": ("config", "completion"),
}
"""The verbs by what a person wants, as --help shows them."""


def command_of(verb: str) -> click.Command:
    """The command of a verb of VERBS; imports its module, and no other verb's."""
    command: click.Command = import_module(VERBS[verb][0]).command
    return command
