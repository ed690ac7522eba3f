"""Files of `rtassay tune --keep`: what they hold, what they cannot hold, and the line that removes them."""

from __future__ import annotations

from rtassay.model.knobs import AFFINITY, HOLD, SERVICE, SET, WRITE, Action
from rtassay.model.tuning import KEPT_SYSCTL, KEPT_UNIT, Setting, TuningPlan
from rtassay.reports.tuning.kept import kept_files, removal


def plan(*actions: Action) -> TuningPlan:
    return TuningPlan((Setting("one", "One", actions),))


SYSCTL = Action(WRITE, "/proc/sys/vm/stat_interval", "10")
HUGE = Action(WRITE, "/sys/kernel/mm/transparent_hugepage/enabled", "never")


def test_a_sysctl_goes_to_sysctl_d_and_the_rest_into_a_unit() -> None:
    files, left = kept_files(
        plan(SYSCTL, HUGE, Action(SERVICE, "irqbalance.service", ""), Action(HOLD, "/dev/cpu_dma_latency", "0"))
    )
    assert [file.path for file in files] == [KEPT_SYSCTL, KEPT_UNIT] and left == ()
    assert files[0].text.endswith("# one\nvm.stat_interval = 10\n")
    assert 'ExecStartPre=/bin/sh -c "printf %%s never > /sys/kernel/mm/transparent_hugepage/enabled"' in files[1].text
    assert 'ExecStartPre=/bin/sh -c "systemctl stop irqbalance.service"' in files[1].text
    assert "exec 3>/dev/cpu_dma_latency; printf %%b" in files[1].text and "WantedBy=multi-user.target" in files[1].text
    assert removal(files) == f"systemctl disable rtassay-tuned.service; rm {KEPT_SYSCTL} {KEPT_UNIT}"
    assert removal(kept_files(plan(SYSCTL))[0]) == f"rm {KEPT_SYSCTL}"


def test_what_belongs_to_one_boot_is_named_and_not_kept() -> None:
    irq, default = (
        Action(WRITE, f"/proc/irq/{name}", "1") for name in ("24/smp_affinity_list", "default_smp_affinity")
    )
    files, left = kept_files(
        plan(irq, Action(AFFINITY, "17", "0", ("rcuc/1",)), Action(SET, "/sys/fs/cgroup/x/y", "1"))
    )
    assert files == () and len(left) == 3 and left[0] == "one: write /proc/irq/24/smp_affinity_list 1"
    assert [file.path for file in kept_files(plan(default))[0]] == [KEPT_UNIT]
