"""Choices of the command line that replace those of the file: boards, kernels, the requirement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from rtassay.experiments.files import Source, looks_fault
from rtassay.experiments.schema import NAME, ExperimentFile
from rtassay.model.errors import UsageError, both_stated
from rtassay.model.settings import default
from rtassay.model.units import format_rate


@dataclass(frozen=True, slots=True)
class Choices:
    """Empty or None: as the file says. `deadline`: a time as written in files (`200us`)."""

    boards: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    deadline: str | None = None
    p: float | None = None
    per_hour: float | None = None
    looks: int | None = None

    @property
    def argv(self) -> tuple[str, ...]:
        """The options that make the same choice again."""
        words = [word for board in self.boards for word in ("--board", board)]
        words += [word for kernel in self.kernels for word in ("--kernel", kernel)]
        words += ["--deadline", self.deadline] if self.deadline is not None else []
        words += ["--p", f"{self.p:g}"] if self.p is not None else []
        words += ["--at-most", format_rate(self.per_hour)] if self.per_hour is not None else []
        words += ["--looks", str(self.looks)] if self.looks is not None else []
        return tuple(words)


def choose(source: Source, choices: Choices) -> ExperimentFile:
    """The file of `source` with the choices applied. Raises UsageError for a name that is not valid or is given twice."""
    import re

    file = source.file
    changes: dict[str, Any] = {}
    for what, names in (("boards", choices.boards), ("kernels", choices.kernels)):
        for index, name in enumerate(names):
            if name in names[:index]:
                raise UsageError(f"--{what[:-1]} {name} is given twice")
            if what == "kernels" and not re.match(NAME, name):
                raise UsageError(f"--kernel '{name}' is not the name of a boot entry")
        if names:
            changes["kernels_given" if what == "kernels" else what] = names
    stated = {"deadline": choices.deadline, "p": choices.p, "looks": choices.looks}
    accept: dict[str, Any] = {key: value for key, value in stated.items() if value is not None}
    if choices.p is not None:
        accept["at_most"] = None
    if choices.per_hour is not None:
        if choices.p is not None:
            raise both_stated("--p", "--at-most")
        accept |= {"at_most": format_rate(choices.per_hour), "p": default("p")}
    if accept:
        changes["acceptance"] = msgspec.structs.replace(file.acceptance, **accept)
    chosen = msgspec.structs.replace(file, **changes) if changes else file
    why = looks_fault(chosen)
    if why is None and chosen.acceptance.looks > 1 and chosen.acceptance.deadline is None:
        why = "a look judges a requirement, and none is stated: --deadline"
    if why is not None:
        raise UsageError(f"{chosen.acceptance.looks} looks are not possible", why)
    return chosen


def kernel_note(file: ExperimentFile) -> str | None:
    """A note about the kernels: that `run` builds them, or that a preset which compares kernels measures only the running one."""
    if file.build is not None:
        return (
            f"`rtassay experiment run` builds these kernels from {file.build.source} ({', '.join(file.build.kinds)}), which takes up to half "
            "an hour on eight cores, and brings them to the boards; kernels that were built before are taken as they are"
        )
    if file.kernels or file.preset is None or len(file.preset.kernels) < 2:
        return None
    return (
        f"made to compare kernels ({', '.join(file.preset.kernels)}); none is named here, so only the running kernel is "
        "measured and kernels are not compared: --kernel A --kernel B names boot entries of the board"
    )
