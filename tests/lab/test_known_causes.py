"""The proof of causes: faults of known kind, time and length on both kernels, each late wake-up with its cause (bench/KNOWN_CAUSES.md)."""

from __future__ import annotations

import known_causes
import pytest
import rtfault

from rtassay.boards.binaries import probe_path

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return {kernel: rtfault.build(kernel, tmp_path_factory.mktemp(kernel)) for kernel in rtfault.METAPACKAGES}


@pytest.mark.parametrize("faults", known_causes.GROUPS, ids=lambda faults: "".join(fault.letter for fault in faults))
@pytest.mark.parametrize("kernel", ["stock", "rt"])
def test_every_late_wake_up_of_a_known_fault_gets_its_cause_and_no_other_does(
    kernel: str, faults: tuple[known_causes.Fault, ...], modules: dict[str, bytes]
) -> None:
    answer = known_causes.run(kernel, modules[kernel], probe_path("x86_64"), faults)
    assert answer.invented == ()
    for cell in answer.cells:
        what = f"{cell.fault.name}, {cell.length_us} us on {kernel}"
        assert cell.injected == known_causes.HITS, what
        assert cell.wrong == (), what
        least, most = known_causes.expected_hits(cell.fault, kernel, cell.length_us)
        assert least <= cell.hits <= most, what
