"""The proof of causes: faults of known kind and length in virtual time, and whether each late wake-up gets its cause.

    .venv/bin/python bench/known_causes.py [--kernel stock|rt] [--keep DIR]

Prints a Markdown table. It needs QEMU, a compiler, and Debian's mirror at the first run; a boot takes half a minute or more.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import known_causes
import rtfault

from rtassay.boards.binaries import probe_path


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--kernel", choices=list(rtfault.METAPACKAGES), action="append")
    options.add_argument("--keep", type=Path, help="directory for the streams")
    given = options.parse_args()
    print(
        "| kernel | fault | length us | injected | hits to expect | hits | wrong |\n| --- | --- | --- | --- | --- | --- |"
    )
    bad = 0
    for kernel in given.kernel or rtfault.METAPACKAGES:
        with tempfile.TemporaryDirectory() as scratch:
            module = rtfault.build(kernel, Path(scratch))
        for number, faults in enumerate(known_causes.GROUPS):
            answer = known_causes.run(kernel, module, probe_path("x86_64"), faults)
            if given.keep:
                given.keep.mkdir(parents=True, exist_ok=True)
                (given.keep / f"{kernel}-{number}.rtw").write_bytes(answer.stream)
            for cell in answer.cells:
                expected = known_causes.expected_hits(cell.fault, kernel, cell.length_us)
                told = " to ".join(map(str, dict.fromkeys(expected)))
                row = (kernel, cell.fault.name, cell.length_us, cell.injected, told, cell.hits, len(cell.wrong))
                print("|", " | ".join(map(str, row)), "|", flush=True)
                for words in cell.wrong:
                    print(f"  {words}", file=sys.stderr)
                bad += len(cell.wrong)
            for words in answer.invented:
                print(f"  invented: {words}", file=sys.stderr)
            print(f"  {answer.others} late wake-ups without a fault", file=sys.stderr, flush=True)
            bad += len(answer.invented)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
