"""Single rules, each on a trace written for it."""

from __future__ import annotations

import json
import lzma
from dataclasses import replace

import pytest
from cause_traces import DATA
from simulated_cpu import ENTRY, INSIDE, LANE, OURS, OWN, SWITCH, Cpu, Thread

from rtassay.causes.attribution import attribute
from rtassay.causes.ordinary import USUAL_NS
from rtassay.causes.symbols import symbols
from rtassay.model.causes import Attribution, Cause, Hit, Moved, Trace

STOCK, RT, ARM = "debian-6.1-amd64", "debian-6.1-rt-amd64", "debian-6.1-armhf"
WORKER = Thread(200, "worker", 120)
DUE = 10_000_000
NOBODY = Cause("unattributed")


def cpu_at_due(kernel: str = STOCK, under: Thread = WORKER) -> Cpu:
    """A CPU on which `under` runs since long before the due time."""
    cpu = Cpu(kernel, OURS, ns=DUE - 4_000_000)
    cpu.switch(under, runnable=False)
    cpu.ns = DUE
    return cpu


def woken(cpu: Cpu) -> None:
    """The timer's interrupt wakes the lane."""
    timer = cpu.timer()
    cpu.spend(INSIDE, NOBODY)
    cpu.emit("timer/hrtimer_expire_entry", hrtimer=1, now=cpu.ns, function=1)
    cpu.spend(INSIDE, NOBODY)
    cpu.wake(OURS)
    cpu.emit("timer/hrtimer_expire_exit", hrtimer=1)
    cpu.leave(timer)


def finish(cpu: Cpu) -> Hit:
    """The lane runs, reads the clock and sleeps."""
    if cpu.current.pid != LANE:
        cpu.spend(SWITCH, NOBODY)
        cpu.switch(OURS)
    cpu.spend(OWN, NOBODY)
    hit = Hit(0, 0, LANE, 1, DUE, cpu.ns)
    cpu.hits.append(hit)
    cpu.switch(WORKER, runnable=False)
    return hit


def explained(cpu: Cpu, **options: object) -> Attribution:
    finish(cpu)
    (one,) = attribute(cpu.trace(), virtual=False, **options)  # type: ignore[arg-type]
    assert sum(part.ns for part in one.parts) == one.hit.latency_ns
    return one


def owned(one: Attribution, kind: str) -> int:
    return sum(part.ns for part in one.parts if part.cause.kind == kind)


def test_a_thread_that_raised_its_priority_after_its_switch_counts_by_the_one_it_left_with() -> None:
    cpu = cpu_at_due()
    cpu.spend(ENTRY, NOBODY)
    woken(cpu)
    cpu.spend(900_000, NOBODY)
    cpu.switch(OURS, out_priority=0)
    one = explained(cpu)
    assert one.top == Cause("thread", "worker", None, 200, 0)
    assert (owned(one, "thread"), one.evidence) == (900_000, ("priority-above",))


@pytest.mark.parametrize(("virtual", "kind"), [(True, "hypervisor"), (False, "unattributed")])
def test_a_timer_that_comes_late_though_threads_are_switched_meanwhile_is_no_thread_s_doing(
    virtual: bool, kind: str
) -> None:
    """A switch turns interrupts on: a timer that is due then would interrupt the new thread at once."""
    cpu = cpu_at_due()
    for _ in range(20):
        cpu.spend(15_000, NOBODY)  # no longer than an ordinary entry: nor is it twenty times the ordinary path
        cpu.switch(Thread(210 + cpu.ns % 2, "other", 120))
        cpu.spend(15_000, NOBODY)
        cpu.switch(WORKER)
    cpu.spend(ENTRY, NOBODY)
    woken(cpu)
    finish(cpu)
    (one,) = attribute(cpu.trace(), virtual=virtual)
    assert sum(part.ns for part in one.parts) == one.hit.latency_ns
    assert (one.top, owned(one, kind)) == (Cause(kind), 600_000 + ENTRY)
    assert "switched-meanwhile" in one.evidence and not one.stall_possible


def test_a_switch_just_before_the_timer_s_interrupt_leaves_the_thread_before_it_its_part() -> None:
    """Interrupts are off until the switch, and the interrupt comes at once."""
    cpu = cpu_at_due()
    cpu.spend(900_000, NOBODY)
    cpu.switch(Thread(210, "other", 120))
    cpu.spend(ENTRY, NOBODY)
    woken(cpu)
    one = explained(cpu)
    assert one.top == Cause("interrupts-off", "worker", None, 200, 120)
    assert owned(one, "interrupts-off") > 880_000 and owned(one, "unattributed") == 0
    assert "switched-meanwhile" not in one.evidence


def test_a_boost_that_ended_at_the_switch_counts_too() -> None:
    cpu = cpu_at_due(under=Thread(210, "boosted", 5))
    woken(cpu)
    cpu.spend(900_000, NOBODY)
    cpu.switch(OURS, out_priority=120)
    assert explained(cpu).top.kind == "thread"


def test_throttling_is_a_lower_thread_or_idle_chosen_while_the_lane_runs_on() -> None:
    cpu = cpu_at_due()
    woken(cpu)
    cpu.spend(SWITCH, NOBODY)
    cpu.switch(OURS)
    cpu.spend(1_000, NOBODY)
    cpu.switch(Thread(0, "swapper/0", 120))
    cpu.spend(700_000, NOBODY)
    cpu.switch(WORKER)
    cpu.spend(300_000, NOBODY)
    cpu.switch(OURS)
    one = explained(cpu)
    assert (one.top, owned(one, "throttling")) == (Cause("throttling"), 1_000_000)
    assert "chosen-instead" in one.evidence


@pytest.mark.parametrize("low", [Thread(0, "swapper/0", 120), WORKER], ids=["idle", "thread"])
def test_throttling_that_began_before_the_due_time_is_throttling_too(low: Thread) -> None:
    """A FIFO thread could run, and the scheduler chose another one: real-time threads are held back until one runs again."""
    cpu = Cpu(STOCK, OURS, ns=DUE - 3_000_000)
    cpu.switch(Thread(300, "hog", 49), runnable=False)
    cpu.spend(2_900_000, NOBODY)
    cpu.switch(low)
    cpu.ns = DUE
    woken(cpu)
    cpu.spend(900_000, NOBODY)
    one = explained(cpu)
    assert (one.top, owned(one, "throttling")) == (Cause("throttling"), 900_000 + SWITCH)
    assert "chosen-instead" in one.evidence


def test_throttling_that_another_thread_s_turn_began_is_told_by_the_thread_that_comes_back() -> None:
    """A thread above the lane preempts a FIFO thread and sleeps; the FIFO thread is passed over until it comes back unwoken."""
    for comes_back in (True, False):
        cpu = Cpu(STOCK, OURS, ns=DUE - 3_000_000)
        cpu.switch(Thread(300, "hog", 49), runnable=False)
        cpu.switch(Thread(301, "above", 5))
        cpu.spend(2_900_000, NOBODY)
        cpu.switch(Thread(0, "swapper/0", 120), runnable=False)
        cpu.ns = DUE
        woken(cpu)
        cpu.spend(900_000, NOBODY)
        finish(cpu)
        if comes_back:
            cpu.switch(Thread(300, "hog", 49), runnable=False)
        (one,) = attribute(cpu.trace(), virtual=False)
        assert one.top.kind == ("throttling" if comes_back else "idle-exit")


def test_a_deadline_thread_that_used_up_its_time_holds_no_other_back() -> None:
    cpu = Cpu(STOCK, OURS, ns=DUE - 3_000_000)
    cpu.switch(Thread(300, "deadline", -1), runnable=False)
    cpu.spend(2_900_000, NOBODY)
    cpu.switch(WORKER)
    cpu.ns = DUE
    woken(cpu)
    cpu.spend(900_000, NOBODY)
    assert explained(cpu).top.kind == "no-preemption-point"


@pytest.mark.parametrize("fault", ["page_fault_user", "page_fault_kernel"])
def test_a_page_fault_that_waits_for_the_disk_owns_that_time(fault: str) -> None:
    cpu = cpu_at_due()
    woken(cpu)
    cpu.spend(SWITCH, NOBODY)
    cpu.switch(OURS)
    cpu.emit(f"exceptions/{fault}", address=1, ip=2, error_code=4)
    cpu.switch(WORKER, runnable=False)
    cpu.spend(800_000, NOBODY)
    cpu.wake(OURS)
    cpu.spend(SWITCH, NOBODY)
    cpu.switch(OURS)
    one = explained(cpu)
    assert one.top == Cause("page-fault", "lane", None, LANE, 9)
    assert (owned(one, "page-fault"), owned(one, "no-preemption-point")) == (800_000, 0)
    assert {"own-thread", "page-fault-event"} <= set(one.evidence)


@pytest.mark.parametrize("faults", [True, False], ids=["page-fault", "own-code"])
def test_what_a_lane_runs_after_a_page_fault_counts_to_it_between_interrupts_too(faults: bool) -> None:
    cpu = cpu_at_due()
    woken(cpu)
    cpu.spend(SWITCH, NOBODY)
    cpu.switch(OURS)
    if faults:
        cpu.emit("exceptions/page_fault_user", address=1, ip=2, error_code=4)
    for _ in range(2):
        cpu.spend(400_000, NOBODY)
        cpu.leave(cpu.timer())
    cpu.spend(300_000, NOBODY)
    one = explained(cpu)
    kind = "page-fault" if faults else "thread"
    assert (one.top, owned(one, kind)) == (Cause(kind, "lane", None, LANE, 9), 1_100_000 + OWN - USUAL_NS)
    assert ("page-fault-event" in one.evidence) is faults


def test_a_page_fault_of_an_earlier_turn_is_none_of_this_one() -> None:
    cpu = Cpu(STOCK, WORKER, ns=DUE - 3_000_000)
    cpu.switch(OURS)
    cpu.emit("exceptions/page_fault_user", address=1, ip=2, error_code=4)
    cpu.switch(WORKER, runnable=False)
    cpu.ns = DUE
    woken(cpu)
    cpu.spend(SWITCH, NOBODY)
    cpu.switch(OURS)
    cpu.spend(900_000, NOBODY)
    assert explained(cpu).top.kind == "thread"


@pytest.mark.parametrize("name", ["rtprobe-trace", "rtprobe-writer", "rtprobe-keeper"])
def test_a_thread_of_the_measurement_is_an_observer_whatever_it_does(name: str) -> None:
    for priority in (120, 5):
        cpu = cpu_at_due(under=Thread(210, name, priority))
        cpu.spend(300_000, NOBODY)
        woken(cpu)
        cpu.spend(600_000, NOBODY)
        cpu.switch(OURS)
        one = explained(cpu)
        assert (one.top.kind, one.top.name) == ("observer", name)
        assert owned(one, "observer") >= 850_000


def test_the_built_in_load_and_another_lane_are_no_observers() -> None:
    for name in ("rtprobe", "rtprobe-lane", "rtprobe-traces"):
        cpu = cpu_at_due(under=Thread(210, name, 5))
        woken(cpu)
        cpu.spend(600_000, NOBODY)
        cpu.switch(OURS)
        assert explained(cpu).top.kind == "thread"


def test_where_a_foreign_program_is_followed_every_process_of_rtprobe_is_an_observer() -> None:
    for followed, kind in ((True, "observer"), (False, "thread")):
        cpu = cpu_at_due(under=Thread(210, "rtprobe-ff1f32b", 5))
        woken(cpu)
        cpu.spend(600_000, NOBODY)
        cpu.switch(OURS)
        finish(cpu)
        (one,) = attribute(replace(cpu.trace(), followed=followed), virtual=False)
        assert (one.top.kind, one.top.name) == (kind, "rtprobe-ff1f32b")


def test_where_a_tracer_of_the_kernel_measures_a_lane_only_reads_and_is_an_observer() -> None:
    cpu = cpu_at_due(under=Thread(210, "rtprobe-lane", 5))
    woken(cpu)
    cpu.spend(600_000, NOBODY)
    cpu.switch(OURS)
    finish(cpu)
    trace = cpu.trace()
    text = json.loads(lzma.decompress((DATA / "tracer" / "timerlat-rt.json.xz").read_bytes()))["formats"][
        "ftrace/timerlat"
    ]
    (one,) = attribute(replace(trace, formats={**trace.formats, "ftrace/timerlat": text}), virtual=False)
    assert (one.top.kind, one.top.name) == ("observer", "rtprobe-lane")


def test_a_lane_that_blocks_again_before_it_reads_the_clock_owns_that_time() -> None:
    """On a kernel that does not tell of page faults."""
    cpu = cpu_at_due()
    woken(cpu)
    cpu.spend(SWITCH, NOBODY)
    cpu.switch(OURS)
    cpu.switch(WORKER, runnable=False)
    cpu.spend(800_000, NOBODY)
    cpu.wake(OURS)
    cpu.spend(SWITCH, NOBODY)
    cpu.switch(OURS)
    one = explained(cpu)
    assert (one.top.kind, one.top.pid, "own-thread" in one.evidence) == ("thread", LANE, True)
    assert owned(one, "thread") == 800_000


@pytest.mark.parametrize("slept", [False, True], ids=["still-on-the-cpu", "slept-late"])
def test_a_lane_that_was_awake_at_its_due_time_owns_the_time_until_its_timer(slept: bool) -> None:
    cpu = Cpu(STOCK, WORKER, ns=DUE - 3_000_000)
    cpu.switch(OURS)
    cpu.ns = DUE
    cpu.spend(600_000, NOBODY)
    if slept:
        cpu.switch(WORKER, runnable=False)
        cpu.spend(ENTRY, NOBODY)
    woken(cpu)
    one = explained(cpu)
    assert (one.top, one.complete) == (Cause("thread", "lane", None, LANE, 9), True)
    assert owned(one, "thread") == 600_000
    assert "never-slept" in one.evidence
    assert next(part.phase for part in one.parts) == "A"


def test_on_rt_a_softirq_counts_as_its_thread() -> None:
    cpu = cpu_at_due(RT, Thread(14, "ksoftirqd/0", 120))
    cpu.emit("irq/softirq_entry", vec=3)
    cpu.depth = 1
    woken(cpu)
    cpu.spend(900_000, NOBODY)
    cpu.emit("irq/softirq_exit", vec=3)
    one = explained(cpu, realtime=True)
    assert (one.top.kind, one.top.name) == ("preemption-off", "ksoftirqd/0")


def test_what_no_rule_explains_on_a_preemptible_kernel_is_not_claimed() -> None:
    cpu = cpu_at_due()
    woken(cpu)
    cpu.spend(900_000, NOBODY)
    one = explained(cpu, preemptible=True)
    assert (one.top, one.complete) == (NOBODY, True)


@pytest.mark.parametrize(("depth", "kind"), [(1, "preemption-off"), (0, "unattributed")])
def test_on_a_preemptible_kernel_the_interrupt_that_ends_a_stretch_tells_of_it(depth: int, kind: str) -> None:
    cpu = cpu_at_due(RT)
    woken(cpu)
    cpu.spend(900_000, NOBODY)
    cpu.depth = depth
    inner = cpu.interrupt("eth0", 5)
    cpu.spend(10_000, NOBODY)
    cpu.leave(inner)
    assert owned(explained(cpu, realtime=True), kind) == 900_000


def test_an_ipi_of_a_kernel_that_traces_it_as_an_interrupt_is_one_cause() -> None:
    cpu = cpu_at_due(ARM)
    woken(cpu)
    inner = cpu.interrupt("IPI", 19)
    cpu.spend(10_000, NOBODY)
    cpu.emit("ipi/ipi_entry", reason=0)
    cpu.spend(500_000, NOBODY)
    cpu.emit("ipi/ipi_exit", reason=0)
    cpu.spend(10_000, NOBODY)
    cpu.leave(inner)
    one = explained(cpu)
    assert (one.top, owned(one, "ipi")) == (Cause("ipi", "IPI"), 520_000)


def test_an_nmi_is_told_by_its_length() -> None:
    cpu = cpu_at_due()
    woken(cpu)
    cpu.spend(800_000, NOBODY)
    cpu.flags |= 0x08
    cpu.emit("nmi/nmi_handler", handler=1, delta_ns=700_000, handled=1)
    cpu.flags &= ~0x08
    one = explained(cpu)
    assert (one.top, owned(one, "irq")) == (Cause("irq", "NMI"), 700_000)


def test_a_waking_by_another_cpu_takes_that_cpu_s_phases() -> None:
    own, other = cpu_at_due(), Cpu(STOCK, Thread(0, "swapper/1", 120), ns=DUE - 3_000_000)
    other.emit("sched/sched_waking", comm="x", pid=1, prio=120, target_cpu=1)
    other.ns = DUE + ENTRY
    woken(other)
    other.emit("sched/sched_waking", comm="x", pid=1, prio=120, target_cpu=1)
    own.spend(600_000, NOBODY)
    own.leave(own.interrupt("irq_vectors/reschedule"))
    hit = finish(own)
    trace = replace(own.trace(), pages={0: tuple(own.to_pages()), 1: tuple(other.to_pages())}, hits=(hit,))
    (one,) = attribute(trace, virtual=False)
    assert one.top == Cause("interrupts-off", "worker", None, 200, 120)
    assert one.parts[-2].phase == "C" and "woken-elsewhere" in one.evidence and one.complete


def two_silent_cpus(apart_ns: int = 0, second: Thread = WORKER) -> Trace:
    """Both CPUs stand still from before their due times until the same moment, the second one under its own thread."""
    cpus = [cpu_at_due(), cpu_at_due(under=second)]
    hits = []
    for number, cpu in enumerate(cpus):
        cpu.spend(2_000_000 + number * apart_ns, NOBODY)
        woken(cpu)
        hits.append(replace(finish(cpu), cpu=number, lane=number))
    return replace(cpus[0].trace(), pages={n: tuple(cpu.to_pages()) for n, cpu in enumerate(cpus)}, hits=tuple(hits))


@pytest.mark.parametrize(("virtual", "kind"), [(False, "smi"), (True, "hypervisor")])
def test_cpus_that_are_silent_and_come_back_together_were_stopped(virtual: bool, kind: str) -> None:
    for one in attribute(two_silent_cpus(), virtual=virtual):
        assert (one.top, "hole-on-all-cpus" in one.evidence) == (Cause(kind), True)
        assert owned(one, "wake-up") > 0


def test_cpus_that_come_back_apart_were_not() -> None:
    tops = {one.top.kind for one in attribute(two_silent_cpus(500_000), virtual=False)}
    assert tops == {"interrupts-off"}


@pytest.mark.parametrize(
    ("counter", "by", "kind"),
    [
        ("smi", 1, "smi"),
        ("steal", 2_000_000, "hypervisor"),
        ("steal", 1_000, "interrupts-off"),
        ("smi", 0, "interrupts-off"),
    ],
)
def test_a_counter_that_moved_explains_silence(counter: str, by: int, kind: str) -> None:
    cpu = cpu_at_due()
    cpu.spend(2_000_000, NOBODY)
    woken(cpu)
    assert explained(cpu, moved=(Moved(counter, 0, DUE - 1000, DUE + 1_000_000_000, by),)).top.kind == kind


def test_an_smi_may_own_less_than_half_of_a_hit_whose_ordinary_path_is_long() -> None:
    """What interrupts the path of the wake-up lengthens it: the SMI is still the longest of what is no path."""
    cpu = cpu_at_due()
    cpu.spend(70_000, NOBODY)
    woken(cpu)
    for _ in range(5):
        cpu.spend(18_000, NOBODY)
        timer = cpu.timer()
        cpu.spend(INSIDE, NOBODY)
        cpu.leave(timer)
    one = explained(cpu, moved=(Moved("smi", 0, DUE - 1000, DUE + 1_000_000_000, 1),))
    assert owned(one, "smi") == 60_000 and one.hit.latency_ns > 2 * 70_000, (
        "less the ordinary 10 us of the interrupt's entry"
    )
    assert owned(one, "interrupts-off") == 0


def test_one_smi_explains_one_hit() -> None:
    trace = two_silent_cpus(500_000)
    moved = (Moved("smi", None, 0, 2 * DUE, 1),)
    assert sorted(one.top.kind for one in attribute(trace, virtual=False, moved=moved)) == ["interrupts-off", "smi"]


def test_one_smi_is_not_taken_for_interrupts_that_the_observer_has_off() -> None:
    """rtprobe-trace was silent for longer, but it has interrupts off for each page it takes."""
    trace = two_silent_cpus(500_000, second=Thread(210, "rtprobe-trace", 10))
    some = [Moved("smi", None, 0, 2 * DUE, by) for by in (1, 2)]
    found = [[one.top.kind for one in attribute(trace, virtual=False, moved=(moved,))] for moved in some]
    assert found == [["smi", "observer"], ["smi", "smi"]]


def test_a_hit_before_the_trace_begins_is_not_attributed() -> None:
    cpu = cpu_at_due()
    cpu.spend(2_000_000, NOBODY)
    woken(cpu)
    hit = finish(cpu)
    for other in (
        replace(hit, due_ns=1000, woke_ns=2000),
        replace(hit, cpu=7),
        replace(hit, due_ns=cpu.ns + 1, woke_ns=cpu.ns + 9),
    ):
        (one,) = attribute(replace(cpu.trace(), hits=(other,)), virtual=False)
        assert (one.top, one.evidence, one.complete) == (NOBODY, ("no-pages",), False)


def test_pages_that_were_not_sent_between_two_hits_spoil_neither() -> None:
    """The first hit's last page ends with the lane on the CPU; that it slept since stood in a page that was not sent."""
    first = cpu_at_due()
    woken(first)
    first.spend(900_000, NOBODY)
    first.switch(OURS)
    first.spend(OWN, NOBODY)
    hit = Hit(0, 0, LANE, 1, DUE, first.ns)
    later = Cpu(STOCK, WORKER, ns=5 * DUE - 3_000_000)
    later.emit("sched/sched_waking", comm="x", pid=1, prio=120, target_cpu=0)
    later.ns = 5 * DUE
    later.spend(800_000, NOBODY)
    woken(later)
    second = replace(finish(later), k=41, due_ns=5 * DUE)
    trace = replace(first.trace(), pages={0: tuple(first.to_pages() + later.to_pages())}, hits=(hit, second))
    one, other = attribute(trace, virtual=False)
    assert one.complete and one.top.kind == "no-preemption-point"
    assert other.complete and other.top.kind == "interrupts-off" and "never-slept" not in other.evidence


def test_an_interrupt_whose_exit_is_not_traced_ends_with_the_next_record_outside_of_interrupts() -> None:
    cpu = cpu_at_due()
    woken(cpu)
    cpu.interrupt("disk", 30)
    cpu.flags = 0
    cpu.emit("sched/sched_waking", comm="x", pid=1, prio=120, target_cpu=0)
    cpu.spend(900_000, NOBODY)
    assert explained(cpu).top.kind == "no-preemption-point"


def test_migration_off_is_not_preemption_off() -> None:
    """The upper half of the count's byte says how deep migration is off."""
    cpu = cpu_at_due()
    cpu.depth = 0x10
    woken(cpu)
    cpu.spend(900_000, NOBODY)
    assert explained(cpu).top.kind == "no-preemption-point"


def test_a_symbol_has_its_offset_and_module() -> None:
    names = symbols(
        "ffffffffc0001000 t spin\t[rtfault]\nnonsense\n0000000000000000 T hidden\nffffffff81000000 T _text\n"
    )
    assert names.name(0xFFFFFFFFC0001044) == "spin+0x44 [rtfault]"
    assert names.name(0xFFFFFFFF81000000) == "_text"
    assert names.name(0xFFFFFFFFD0000000) == "0xffffffffd0000000"
    assert names.name(0x1000) == "0x1000"
