"""A compile job: a fixed source, made on the spot, by the board's own C compiler, as many processes at once as it has units."""

from __future__ import annotations

from rtassay.model.errors import UsageError
from rtassay.works.base import Done, Part

_UNITS, _MOST = 4, 64
_FUNCTIONS = 60
# One unit of the source, by awk. Loops, branches and calls, so that every stage of the compiler has something to do.
_SOURCE = (
    (
        f'BEGIN {{ for (i = 0; i < {_FUNCTIONS}; i++) {{ printf "unsigned f%d(unsigned n, const unsigned *p) {{ unsigned s = %d, i; '
        "for (i = 0; i < n; i++) switch ((p[i] ^ s) & 7) {{ case 0: s += p[i] * %d; break; case 1: s ^= p[i] << (s & 15); break; "
        'case 2: s -= p[n - 1 - i]; break; default: s = s * 31 + p[i]; }} return n > 1 ? s", i, unit * 7919 + i, i + 3; '
        'if (i) printf " ^ f%d(n / 2, p)", i - 1; print " : s; }" } }'
    )
    .replace("{{", "{")
    .replace("}}", "}")
)


class CompileWork:
    """`cc -O2 -S` of four units of 60 functions, four processes at once; nothing is written to a disk. Its time is that of the whole round, start of the
    processes included; its CPU time that of all of them. `compile:8` compiles eight."""

    name = "compile"
    summary = "the board's C compiler: 4 units of 60 functions, all at once; compile:UNITS"
    program: str | None = "cc"

    def parts(self, argument: str | None) -> tuple[Part, ...]:
        return (Part("", _units(argument), "units compiled"),)

    def command(self, argument: str | None, rtprobe: str) -> tuple[str, ...]:
        one = f"awk -v unit=$unit '{_SOURCE}' | cc -O2 -S -x c -o - - > /dev/null"
        units = " ".join(str(unit) for unit in range(_units(argument)))
        return (
            "sh",
            "-c",
            f'for unit in {units}; do {{ {one}; }} & all="$all $!"; done; for one in $all; do wait $one || exit 1; done',
        )

    def read(self, argument: str | None, text: str) -> tuple[Done, ...]:
        return (Done("", None),)


def _units(argument: str | None) -> int:
    if argument is None:
        return _UNITS
    if not argument.isdigit() or not 1 <= int(argument) <= _MOST:
        raise UsageError(f"compile: '{argument}' is no number of units from 1 to {_MOST}", hint="compile:8")
    return int(argument)
