"""What was proven, for other programs: their own parsers read it, and every line has its evidence."""

from __future__ import annotations

import configparser
import json
import re
import shutil
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from rtassay import reports
from rtassay.model.knobs import WRITE, Action
from rtassay.model.proving import Proof
from rtassay.model.tuning import Setting, TuningPlan
from rtassay.reports.proof import drawings
from rtassay.session import tuning_plans

from . import proofs

SYSCTL = shutil.which("sysctl", path="/usr/sbin:/sbin:/usr/bin:/bin")
SYSTEMD = shutil.which("systemd-analyze")
EXPORTS = ("plan", "sysctl", "systemd", "cmdline", "tuned", "rt-conf", "ansible")


def text_of(name: str, proof: Proof | None = None) -> str:
    return reports.load(Proof, name).render(proof or proofs.whole()).decode()


def own_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("#", "---"))]


def as_systemd_reads(line: str) -> str:
    """The shell's command of `/bin/sh -c "..."`: systemd undoes its own escapes."""
    inside = line.removeprefix('/bin/sh -c "').removesuffix('"').replace("%%", "%").replace("$$", "$")
    return re.sub(r"\\(.)", r"\1", inside)


@pytest.mark.parametrize("name", EXPORTS)
def test_each_setting_stands_there_with_effect_interval_and_recordings(name: str) -> None:
    proof, text = proofs.whole(), text_of(name)
    for worth in proof.proven:
        told = next(line for line in text.splitlines() if re.search(rf"# {worth.id}: helps by", line))
        assert worth.answer is not None
        assert "95 %:" in told and worth.answer.recordings[0] in told
    assert "turbo" not in text and "swappiness" not in text
    assert "7 of 9 settings together: helps by a factor of " in text and "Kernel 6.12.48" in text


@pytest.mark.parametrize("name", EXPORTS)
def test_what_a_format_cannot_hold_is_said(name: str) -> None:
    if name == "plan":
        return
    told = [line for line in text_of(name).splitlines() if "policy 812 99" in line]
    assert len(told) == 1 and re.match("# not (in|a) ", told[0])


def test_the_plan_is_read_by_tune() -> None:
    text = text_of("plan")
    asked = tuning_plans.of_file("tuned.toml", text)
    assert asked.ids == (
        "printk",
        "governor",
        "dma-latency",
        "transparent-hugepages",
        "irqbalance",
        "foreign-rt-threads",
    )
    assert asked.goal is not None and (asked.goal.isolated, asked.goal.period_ns) == ((2, 3), 1_000_000)
    assert [(one.id, one.actions) for one in asked.writes] == [("quote", proofs.SETTINGS[6].actions)]


def test_a_plan_of_writes_alone_is_read_too() -> None:
    whole = proofs.whole()
    campaign = replace(whole.campaign, chosen=("quote",))
    told = tomllib.loads(text_of("plan", replace(whole, campaign=campaign, goal=None)))
    assert set(told) == {"write"} and told["write"][0]["value"] == "1"


def test_sysctls_stand_in_their_file_by_name() -> None:
    assert own_lines(text_of("sysctl")) == ["kernel.printk = 1 4 1 7", "net.ipv4.conf.eth0/1.rp_filter = 1"]


@pytest.mark.skipif(SYSCTL is None, reason="sysctl is not installed (procps)")
def test_sysctl_reads_its_file(tmp_path: Path) -> None:
    assert SYSCTL is not None
    text = text_of("sysctl")
    file = tmp_path / "90-rtassay.conf"
    file.write_text(text.replace("net.ipv4.conf.eth0/1.rp_filter", "vm.swappiness"))
    done = subprocess.run([SYSCTL, "--dry-run", "-p", file], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.splitlines()[0] == "kernel.printk = 1 4 1 7", done


@pytest.mark.skipif(SYSTEMD is None, reason="systemd-analyze is not installed (systemd)")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    assert SYSTEMD is not None
    unit = tmp_path / "rtassay-tuned.service"
    unit.write_text(text_of("systemd"))
    done = subprocess.run([SYSTEMD, "verify", unit], capture_output=True, text=True)
    assert "rtassay-tuned" not in done.stderr, done.stderr


def test_the_shell_of_the_unit_does_what_is_meant(tmp_path: Path) -> None:
    text = text_of("systemd")
    started = [line for line in text.splitlines() if line.startswith("ExecStart")]
    assert len(started) == 7  # two sysctls, two governors, huge pages, a service, and the held file
    held = started[-1]
    assert held.startswith('ExecStart=/bin/sh -c "')
    # as systemd reads it: %% is %, a doubled backslash is one
    command = as_systemd_reads(held.removeprefix("ExecStart="))
    target = tmp_path / "latency"
    target.touch()
    command = command.replace("/dev/cpu_dma_latency", str(target)).replace("exec sleep infinity", "true")
    subprocess.run(["/bin/sh", "-c", command], check=True)
    assert target.read_bytes() == bytes(4)


def test_a_shell_reads_the_words_for_grub(tmp_path: Path) -> None:
    file = tmp_path / "90-rtassay.cfg"
    file.write_text(text_of("cmdline"))
    shown = subprocess.run(
        ["/bin/sh", "-c", f'GRUB_CMDLINE_LINUX=quiet; . {file}; printf %s "$GRUB_CMDLINE_LINUX"'],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert shown == (
        'quiet sysctl.kernel.printk="1 4 1 7" cpufreq.default_governor=performance transparent_hugepage=never '
        "sysctl.net.ipv4.conf.eth0/1.rp_filter=1"
    )


def test_a_profile_of_tuned_has_its_sections() -> None:
    parser = configparser.ConfigParser(delimiters=("=",), comment_prefixes=("#",), strict=False)
    parser.optionxform = str  # type: ignore[assignment]
    parser.read_string(text_of("tuned"))
    assert dict(parser["sysctl"]) == {"kernel.printk": "1 4 1 7", "net.ipv4.conf.eth0/1.rp_filter": "1"}
    assert parser["cpu"]["force_latency"] == "0" and parser["service"]["service.irqbalance"] == "stop"
    assert len(parser["sysfs"]) == 3 and "summary" in parser["main"]


def test_rt_conf_and_ansible_are_the_yaml_that_is_meant() -> None:
    rt_conf = own_lines(text_of("rt-conf"))
    assert rt_conf[:4] == [
        "kernel-cmdline:",
        "  parameters:",
        '    - "sysctl.kernel.printk=\\"1 4 1 7\\""',
        '    - "transparent_hugepage=never"',
    ]
    assert rt_conf[5:] == [
        "cpu-governance:", "  cpu-0:", '    cpus: "0"', '    scaling-governor: "performance"',
        "  cpu-2:", '    cpus: "2"', '    scaling-governor: "performance"',
    ]  # fmt: skip
    tasks = text_of("ansible").split("- name: ")[1:]
    assert [json.loads(task.split("\n")[0]).split(":")[0] for task in tasks] == [
        "printk", "governor", "governor", "transparent-hugepages", "irqbalance", "quote",
    ]  # fmt: skip
    assert "ansible.posix.sysctl:" in tasks[0] and "ansible.builtin.service:" in tasks[4]


def test_values_with_quotes_stay_values(tmp_path: Path) -> None:
    whole = proofs.whole()
    value = """a 'b' $HOME "c" `d` %h"""
    strange = Setting("printk", "x", (Action(WRITE, "/sys/kernel/x", value),))
    proof = replace(
        whole,
        campaign=replace(whole.campaign, chosen=("printk",)),
        tuning=TuningPlan((strange, *whole.tuning.settings[1:])),
    )
    line = next(row for row in text_of("systemd", proof).splitlines() if row.startswith("ExecStartPre"))
    read = as_systemd_reads(line.removeprefix("ExecStartPre="))
    target = tmp_path / "x"
    subprocess.run(["/bin/sh", "-c", read.replace("/sys/kernel/x", str(target))], check=True)
    assert target.read_text() == value


def test_an_effect_beyond_the_axis_is_an_arrow_and_no_dot_at_its_edge() -> None:
    proof = proofs.noisy()
    assert proof.campaign.worths[0].answer is not None and proof.campaign.worths[0].answer.effect is not None
    assert proof.campaign.worths[0].answer.effect.ratio > 20
    drawn, page = drawings.forest(proof), text_of("html", proof)
    assert "<circle" not in drawn and drawings.forest(proofs.one()).count("<circle") == 1
    # the heads: of a bar both strokes stand above each other, of an arrow they point back
    heads = [[float(x) for x in head] for head in re.findall(r"M([\d.]+) [\d.]+L([\d.]+) [\d.]+L([\d.]+) ", drawn)]
    assert [begin == middle == end for begin, middle, end in heads] == [True, False]
    assert "the last row was measured again" not in page and "the last row was measured again" in text_of("html")
    headline = re.search("<h1>(.*)</h1>", page)
    assert headline is not None and headline[1].startswith("printk on pi5: cannot tell (12 more runs); a factor of ")
