"""Known faults get the names of their functions on both kernels, in a module and in the kernel itself (docs/method/causes.md, "Functions")."""

from __future__ import annotations

from pathlib import Path

import known_functions
import pytest
import rtfault

from rtassay.boards.binaries import probe_path

pytestmark = pytest.mark.full
# The hits of one second are limited, and the shell around the faults is late too; another build of the probe has other phases.
SURE = 2
# What keeps preemption off is named where it comes back on; a kernel with voluntary preemption does not switch there.
OFF_AT = {
    "stock": {("preemption-off", "rtfault_spin[rtfault]", "inside")},
    "rt": {
        ("preemption-off", "rtfault_preemption_off[rtfault]", "at-end"),
        ("preemption-off", "rtfault_spin[rtfault]", "inside"),
    },
}


@pytest.mark.parametrize("kernel", ["stock", "rt"])
def test_interrupts_and_preemption_off_are_named_by_function_and_module(kernel: str, tmp_path: Path) -> None:
    found = known_functions.run(kernel, rtfault.build(kernel, tmp_path), probe_path("x86_64"))
    irqs = {what: n for what, n in found.functions("rtfault_i").items() if what[0] == "interrupts-off"}
    assert set(irqs) == {("interrupts-off", "rtfault_interrupts_off[rtfault]", "at-end")}
    preemption = {what: n for what, n in found.functions("rtfault_p").items() if what[0] == "preemption-off"}
    unnamed = preemption.pop(("preemption-off", "-", "-"), 0)  # the kernel could not unwind a stack: code of retpolines
    assert set(preemption) <= OFF_AT[kernel] and unnamed < sum(preemption.values())
    assert sum(irqs.values()) >= SURE and sum(preemption.values()) >= SURE
    for part in (*found.parts["rtfault_i"], *found.parts["rtfault_p"]):
        if (
            part.cause.kind in ("interrupts-off", "preemption-off")
            and part.place is not None
            and "rtfault" in part.place.function
        ):
            assert "+0x" in part.place.function and part.place.function.endswith(" [rtfault]")
    # The shell prints all threads to the kernel's log: interrupts off on both kernels, and no preemption point on the stock one.
    kernels_own = {function for _, function, _ in found.functions("sh") if function != "-"}
    assert "vprintk_store" in kernels_own
    assert found.left == "", "no instance of tracefs is left"
