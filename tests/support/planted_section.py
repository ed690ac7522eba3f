"""A regression planted in an image of an arm64 kernel, without a compiler: a system call gets a section with interrupts off.

Its first instruction that saves the return address becomes a jump into the body of a system call that nothing here makes.
"""

from __future__ import annotations

import gzip
import struct

FUNCTION, UNUSED = "__arm64_sys_munmap", "__arm64_sys_acct"
_BEFORE_TEXT = 0x10000
"""The head of an image, before the first symbol of kallsyms."""
_PACIASP = 0xD503233F
"""It signs the return address; a CPU without pointer authentication, as Cortex-A72, takes it for a nop."""
_LOOPS = 18_750
"""Of two instructions, 8 ns each: 300 us, twice the largest latency of Debian's kernel under that load."""
_SECTION = (
    _PACIASP,
    0xD53B422A,  # mrs x10, daif
    0xD50342DF,  # msr daifset, #2
    0xD2800000 | _LOOPS << 5 | 11,  # mov x11, #_LOOPS
    0xF100056B,  # subs x11, x11, #1
    0x54FFFFE1,  # b.ne to the line before
    0xD51B422A,  # msr daif, x10
)


def plant(image: bytes, kallsyms: bytes) -> bytes:
    """`kallsyms`: /proc/kallsyms of this kernel, packed by gzip; where the kernel lay in memory does not matter."""
    found = (line.split() for line in gzip.decompress(kallsyms).decode().splitlines())
    address = {words[2]: int(words[0], 16) for words in found if len(words) == 3}
    new = bytearray(image)
    start = address["_stext"] - _BEFORE_TEXT
    calls, section = (_signs(image, address[name] - start) for name in (FUNCTION, UNUSED))
    section += 4
    code = [*_SECTION, _jump(section + 4 * len(_SECTION), calls + 4)]
    struct.pack_into(f"<{len(code)}I", new, section, *code)
    struct.pack_into("<I", new, calls, _jump(calls, section))
    return bytes(new)


def _signs(image: bytes, function: int) -> int:
    """Where a function signs its return address. Tracing of functions patches what stands before it."""
    words = struct.unpack_from("<6I", image, function)
    return function + 4 * words.index(_PACIASP)


def _jump(at: int, to: int) -> int:
    return 0x14000000 | (to - at) // 4 & 0x3FFFFFF
