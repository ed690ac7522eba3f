"""Settings that a campaign left, for other programs: each line with its effect, its interval and its recordings.

No format holds all kinds of changes; a change that one does not hold stands in it as a comment.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from rtassay.model.knobs import SERVICE, WRITE
from rtassay.model.proving import Proof
from rtassay.reports.proof import settings
from rtassay.reports.proof.settings import Line, comments, evidence, missing

Writer = Callable[[Line], list[str] | None]


def _document(lines: list[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")


def _body(proof: Proof, where: str, write: Writer, mark: str = "#") -> Iterator[str]:
    """Each setting: its evidence as a comment, then what `write` makes of its changes."""
    for worth in proof.proven:
        yield f"{mark} {evidence(worth)}"
        for line in settings.lines(proof, worth):
            made = write(line)
            yield from comments([missing(line, where)], mark) if made is None else made


class PlanProof:
    """A plan of settings for `rtassay tune --plan`, `run --tune` and `prove`."""

    name = "proof.plan"
    suffix = ".toml"
    summary = "tuned.toml: the settings that are left, as a plan for rtassay tune"

    def render(self, subject: Proof) -> bytes:
        own = [worth for worth in subject.proven if worth.group == worth.id]
        known = [worth for worth in subject.proven if worth.group != worth.id]
        out = comments(settings.head(subject, "a plan for rtassay tune --plan"))
        if subject.goal is not None:
            out.append(f"for = {json.dumps(subject.goal)}")
        if known:
            out.append("settings = [")
            for worth in known:
                out += [f"  # {evidence(worth)}", f"  {json.dumps(worth.id)},"]
            out.append("]")
        for worth in own:
            out += ["", f"# {evidence(worth)}"]
            for line in settings.lines(subject, worth):
                out += [
                    "[[write]]",
                    f"name = {json.dumps(worth.id)}",
                    f"file = {json.dumps(line.path)}",
                    f"value = {json.dumps(line.value)}",
                ]
        return _document(out)


class SysctlProof:
    """A file for /etc/sysctl.d."""

    name = "proof.sysctl"
    suffix = ".conf"
    summary = "sysctl.d: the sysctls of the settings that are left"

    def render(self, subject: Proof) -> bytes:
        def write(line: Line) -> list[str] | None:
            return [f"{line.key} = {line.value}"] if line.is_sysctl else None

        return _document(
            [*comments(settings.head(subject, "/etc/sysctl.d/90-rtassay.conf")), *_body(subject, "a sysctl", write)]
        )


class SystemdProof:
    """A unit for systemd, which writes at boot and keeps open what must be held."""

    name = "proof.systemd"
    suffix = ".service"
    summary = "systemd: a unit that applies the settings that are left at boot"

    def render(self, subject: Proof) -> bytes:
        held: list[str] = []

        def write(line: Line) -> list[str] | None:
            if settings.is_hold(line):
                held.append(settings.held_command(line))
                return [f"# {line.key} is held open by ExecStart"]
            command = settings.shell_command(line)
            return None if command is None else [f"ExecStartPre=/bin/sh -c {settings.in_a_unit(command)}"]

        body = list(_body(subject, "in a unit", write))
        start = settings.in_a_unit("; ".join([*held, "exec sleep infinity"]))
        return _document(
            [
                *comments(settings.head(subject, "/etc/systemd/system/rtassay-tuned.service")),
                "[Unit]",
                "Description=Settings proven by rtassay prove",
                "After=sysinit.target",
                "[Service]",
                "Type=exec",
                *body,
                f"ExecStart=/bin/sh -c {start}",
                "[Install]",
                "WantedBy=multi-user.target",
            ]
        )


class CmdlineProof:
    """A fragment for GRUB, one word of the kernel's command line a line."""

    name = "proof.cmdline"
    suffix = ".cfg"
    summary = "kernel command line: words for GRUB that do the same from boot on"

    def render(self, subject: Proof) -> bytes:
        seen: set[str] = set()

        def write(line: Line) -> list[str] | None:
            word = settings.boot_words(line)
            if word is None:
                return None
            if word in seen:
                return []
            seen.add(word)
            escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$").replace("`", "\\`")
            return [f'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX {escaped}"']

        head = settings.head(subject, "/etc/default/grub.d/90-rtassay.cfg, then update-grub")
        return _document([*comments(head), *_body(subject, "a word of the command line", write)])


class TunedProof:
    """A profile of tuned."""

    name = "proof.tuned"
    suffix = ".conf"
    summary = "tuned: a profile (tuned.conf)"

    def render(self, subject: Proof) -> bytes:
        out = comments(settings.head(subject, "/etc/tuned/rtassay/tuned.conf"))
        out += ["[main]", "summary=Settings proven by rtassay prove"]
        rest: list[str] = []
        sections: dict[str, list[str]] = {"sysctl": [], "sysfs": [], "cpu": [], "service": []}
        for worth in subject.proven:
            for line in settings.lines(subject, worth):
                section, text = _of_tuned(line)
                if section is None:
                    rest += comments([evidence(worth), missing(line, "in a profile")])
                else:
                    sections[section] += [f"# {evidence(worth)}", text]
        for name, rows in sections.items():
            if rows:
                out += ["", f"[{name}]", *rows]
        return _document([*out, *rest])


def _of_tuned(line: Line) -> tuple[str | None, str]:
    """(the section, its line)."""
    if line.is_sysctl:
        return "sysctl", f"{line.key}={line.value}"
    if line.kind == WRITE and line.key.startswith("/sys/"):
        return "sysfs", f"{line.key}={line.value}"
    if settings.is_hold(line) and line.key == "/dev/cpu_dma_latency":
        return "cpu", f"force_latency={line.value}"
    if line.kind == SERVICE:
        return "service", f"service.{line.key.removesuffix('.service')}=stop"
    return None, ""


class RtConfProof:
    """A configuration of Canonical's rt-conf."""

    name = "proof.rt-conf"
    suffix = ".yaml"
    summary = "rt-conf: config.yaml with kernel words and governors"

    def render(self, subject: Proof) -> bytes:
        words: list[str] = []
        governors: list[str] = []
        rest: list[str] = []
        for worth in subject.proven:
            told = f"# {evidence(worth)}"
            for line in settings.lines(subject, worth):
                cpu, word = line.governor_cpu, settings.boot_words(line)
                if cpu is not None:
                    governors += [
                        f"  {told}",
                        f"  cpu-{cpu}:",
                        f'    cpus: "{cpu}"',
                        f"    scaling-governor: {json.dumps(line.value)}",
                    ]
                elif word is not None:
                    words += [f"    {told}", f"    - {json.dumps(word)}"]
                else:
                    rest += [told, f"# {missing(line, 'in rt-conf')}"]
        out = comments(settings.head(subject, "config.yaml of rt-conf"))
        if words:
            out += ["kernel-cmdline:", "  parameters:", *words]
        if governors:
            out += ["cpu-governance:", *governors]
        return _document([*out, *rest])


class AnsibleProof:
    """The tasks of an Ansible role."""

    name = "proof.ansible"
    suffix = ".yml"
    summary = "Ansible: tasks/main.yml of a role"

    def render(self, subject: Proof) -> bytes:
        def write(line: Line) -> list[str] | None:
            if line.is_sysctl:
                return [
                    f"- name: {json.dumps(f'{line.id}: {line.key}')}",
                    "  ansible.posix.sysctl:",
                    f"    name: {json.dumps(line.key)}",
                    f"    value: {json.dumps(line.value)}",
                    "    sysctl_file: /etc/sysctl.d/90-rtassay.conf",
                ]
            command = settings.shell_command(line)
            if command is None:
                return None
            if line.kind == SERVICE:
                return [
                    f"- name: {json.dumps(f'{line.id}: stop {line.key}')}",
                    "  ansible.builtin.service:",
                    f"    name: {json.dumps(line.key)}",
                    "    state: stopped",
                    "    enabled: false",
                ]
            return [
                f"- name: {json.dumps(f'{line.id}: {line.key}')}",
                "  ansible.builtin.shell:",
                f"    cmd: {json.dumps(command)}",
                "  changed_when: true",
            ]

        return _document(
            [
                "---",
                *comments(settings.head(subject, "tasks/main.yml of an Ansible role")),
                *_body(subject, "in a role", write),
            ]
        )
