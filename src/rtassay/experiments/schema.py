"""The strict shape of an experiment file (TOML), published as JSON Schema. `Meta` explains the words.

Times are texts such as `60s` or `997us`; `files` turns them into nanoseconds and makes the checks that the shape cannot express.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from rtassay.model.findings import PRIMARY_Q
from rtassay.model.settings import BY_NAME, CHOICE, CPUS, DURATION, FLAG, NUMBER, OF_EXPERIMENT, Setting

_P, _SURE, _LANES, _LOOKS = (BY_NAME[name] for name in ("p", "confidence", "lanes", "looks"))
NAME = r"^[A-Za-z0-9][A-Za-z0-9_.:+-]*$"

Name = Annotated[str, Meta(pattern=NAME, max_length=60)]
Time = Annotated[str, Meta(description="a duration: 200us, 10s, 1h30m")]
CpuText = Annotated[str, Meta(description="a CPU list such as 0-2,5")]
Order = Literal["abba", "random-blocks", "as-written"]
Positive = Annotated[int, Meta(ge=1, le=10_000)]
Quantile = Annotated[
    float, Meta(gt=0, lt=1, description="the primary step of the comparisons, on which each rests: 0.999 is p99.9")
]


class Load(Struct, frozen=True, forbid_unknown_fields=True):
    """A level of the factor `load`: loads that run together on the board. An empty `run` means an idle board."""

    name: Name
    run: Annotated[
        tuple[str, ...], Meta(description="loads as NAME[:ARGS][@CPUS]; several run at once; none: idle")
    ] = ()
    what: str = ""
    probes: Annotated[
        tuple[Name, ...], Meta(description="measured under this load with these probes only; none: with all")
    ] = ()


def annotation(setting: Setting) -> Any:
    """The type of a setting in an experiment file: its range and its help, for the check of a file and for the JSON Schema."""
    limits = f"{setting.help} {setting.range_words}".strip()
    if setting.kind in (DURATION, CPUS):
        return Annotated[str, Meta(description=limits)]
    if setting.kind == FLAG:
        return bool
    if setting.kind == CHOICE:
        return Literal[setting.words]
    if setting.kind == NUMBER:
        return Annotated[float, Meta(ge=setting.least, lt=setting.most, description=setting.help)]
    number = Annotated[int, Meta(ge=setting.least, le=setting.most, description=setting.help)]
    return number | Literal[setting.words] if setting.words else number


if TYPE_CHECKING:

    class Settings(Struct):
        """For type checkers: `model.settings.OF_EXPERIMENT` by their keys, each its value as written, or None."""

        set: dict[str, Any] = {}

        def __init__(self, **values: Any) -> None: ...

        def __getattr__(self, key: str) -> Any: ...

else:
    Settings = msgspec.defstruct(
        "Settings",
        [
            *((setting.key, annotation(setting) | None, None) for setting in OF_EXPERIMENT),
            (
                "set",
                Annotated[dict[str, bool | int | float | str], Meta(description="settings of the method itself")],
                {},
            ),
        ],
        frozen=True,
        forbid_unknown_fields=True,
        module=__name__,
        namespace={
            "__doc__": "How every cell is measured. A scenario may set its own; a missing setting has the default of `rtassay run`."
        },
    )


class Scenario(Struct, frozen=True, forbid_unknown_fields=True):
    """A level of the factor `scenario`: the CPUs to measure and the CPUs for the load."""

    name: Name
    what: str = ""
    cpus: (
        Annotated[str, Meta(description="CPUs to measure, one lane each: a list, or `isolated`; default all allowed")]
        | None
    ) = None
    lanes: Annotated[int, Meta(ge=_LANES.least, le=_LANES.most, description=_LANES.help)] | None = None
    load_cpus: CpuText | None = None
    cyclictest: (
        Annotated[str, Meta(description="exactly this line of cyclictest, `cyclictest -l1000000 -q -v -p80 -t16 -a`")]
        | None
    ) = None
    tune: Annotated[
        dict[str, Any],
        Meta(
            description="settings of the board, changed for each run and put back: as in a file of `rtassay tune --plan`"
        ),
    ] = {}
    settings: Settings = Settings()


class CoolDown(Struct, frozen=True, forbid_unknown_fields=True):
    """Before a cell: wait until the hottest zone is at `to_c` or below, but never longer than `at_most`; without `to_c`, that long."""

    to_c: Annotated[float, Meta(gt=-50, lt=150, description="degrees Celsius")] | None = None
    at_most: Time = "30m"


class Acceptance(Struct, frozen=True, forbid_unknown_fields=True):
    """The requirement. `per = "cell"`: every run alone must demonstrate it; `"combination"`: the repeats of a combination together."""

    deadline: Time | None = None
    p: Annotated[float, Meta(ge=_P.least, lt=_P.most, description=_P.help)] = _P.default
    at_most: Annotated[str, Meta(description="late events instead of p: 0.1/h, 2/d, 1/y")] | None = None
    confidence: Annotated[float, Meta(ge=_SURE.least, lt=_SURE.most, description=_SURE.help)] = _SURE.default
    per: Literal["cell", "combination"] = "cell"
    looks: Annotated[
        int,
        Meta(
            ge=_LOOKS.least,
            le=_LOOKS.most,
            description="judge the repeats of a combination so often, at equal numbers of them, and end it at the first look that decides; "
            'each look is judged more strictly, so that all together have the confidence; needs per = "combination"',
        ),
    ] = 1
    strict: Annotated[bool, Meta(description="every warning of a check makes a measurement invalid")] = False
    waive: Annotated[
        dict[str, Annotated[str, Meta(min_length=1)]],
        Meta(description="checks that do not decide here: id = the reason, which is recorded and shown"),
    ] = {}


class Preset(Struct, frozen=True, forbid_unknown_fields=True):
    """For people: the purpose, results and open questions of an experiment that comes with rtassay. Changes nothing in a run."""

    source: str = ""
    board: str = ""
    kernels: Annotated[
        tuple[str, ...], Meta(description="kernels it was made for; --kernel chooses the kernels to boot here")
    ] = ()
    does: str = ""
    found: str = ""
    left_open: str = ""
    notes: tuple[str, ...] = ()
    published: Annotated[tuple[str, ...], Meta(description="ids of `rtassay published`")] = ()


class Correction(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The changes of `--corrected`: a value or list replaces the original, a table replaces single keys of the original."""

    what: str = ""
    boards: tuple[str, ...] | None = None
    kernels: tuple[Name, ...] | None = None
    reboot: Literal["on-change", "each-block"] | None = None
    probes: tuple[Name, ...] | None = None
    loads: tuple[Load, ...] | None = None
    scenarios: tuple[Scenario, ...] | None = None
    settings: Settings | None = None
    repeats: Positive | None = None
    order: Order | None = None
    seed: int | None = None
    retries: Annotated[int, Meta(ge=0, le=100)] | None = None
    compare: tuple[str, ...] | None = None
    compare_at: Quantile | None = None
    cool_down: CoolDown | None = None
    acceptance: Acceptance | None = None


class KernelBuild(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Kernels that are built from one source and one configuration before the experiment, and brought to its boards (`rtassay kernel build`)."""

    source: Annotated[
        str, Meta(description="a tree, a tarball, a git URL, or a package of Debian as linux-source-6.12", min_length=1)
    ]
    kinds: Annotated[tuple[Literal["stock", "rt"], ...], Meta(min_length=1, max_length=2)] = ("stock", "rt")
    arch: Annotated[str | None, Meta(description="amd64, arm64, armhf, riscv64; default: this machine's")] = None
    config: Annotated[str, Meta(description="the base: a file, or a target of the kernel's Makefile")] = "defconfig"
    fragments: Annotated[tuple[str, ...], Meta(description="lines over the base: files, OPTION=VALUE, lab")] = ()
    ref: Annotated[str | None, Meta(description="branch, tag or commit, where `source` is a git repository")] = None
    patches: Annotated[tuple[str, ...], Meta(description="patches, queues, or Debian's linux_*.debian.tar.xz")] = ()
    container: Annotated[bool, Meta(description="compile in a Debian root of its own")] = False


class BuiltKernels(Struct, frozen=True, forbid_unknown_fields=True):
    """Kernels of an experiment that it builds by itself."""

    build: KernelBuild


class ExperimentFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A matrix of runs: every board x kernel x load x probe x scenario, so many times, in an order that allows a comparison."""

    name: Name
    what: str = ""
    schema: Literal["rtassay/experiment-file/1"] = "rtassay/experiment-file/1"
    boards: Annotated[tuple[str, ...], Meta(min_length=1)] = ("local",)
    kernels_given: Annotated[
        tuple[Name, ...] | BuiltKernels,
        Meta(description="names of boot entries, or the table [kernels.build]; none: the running kernel"),
    ] = msgspec.field(default=(), name="kernels")
    reboot: Annotated[
        Literal["on-change", "each-block"],
        Meta(description="boot when the kernel changes, or afresh for every kernel of every block"),
    ] = "on-change"
    probes: Annotated[tuple[Name, ...], Meta(min_length=1)] = ("rtprobe",)
    loads: Annotated[tuple[Load, ...], Meta(min_length=1)] = (Load("idle"),)
    scenarios: Annotated[tuple[Scenario, ...], Meta(min_length=1)] = (Scenario("all-cpus"),)
    settings: Settings = Settings()
    repeats: Positive = 1
    order: Annotated[
        Order,
        Meta(
            description="abba: each block (repeat) runs backwards after one forwards; random-blocks: each block shuffled by `seed`; "
            "as-written: all repeats of a combination, then the next"
        ),
    ] = "abba"
    seed: int = 1
    retries: Annotated[int, Meta(ge=0, le=100, description="attempts after a failed one, within one go")] = 1
    compare: Annotated[
        tuple[Literal["board", "kernel", "load", "probe", "scenario"], ...],
        Meta(description="factors whose first level is compared with each other; default: those with two levels"),
    ] = ()
    compare_at: Quantile = PRIMARY_Q
    cool_down: CoolDown | None = None
    acceptance: Acceptance = Acceptance()
    preset: Preset | None = None
    corrected: Correction | None = None

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of boot entries; of kernels that are not built yet their kinds."""
        given = self.kernels_given
        return given.build.kinds if isinstance(given, BuiltKernels) else given

    @property
    def build(self) -> KernelBuild | None:
        """How its kernels are built, if it builds them."""
        return self.kernels_given.build if isinstance(self.kernels_given, BuiltKernels) else None


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of an experiment file."""
    schema = msgspec.json.schema(ExperimentFile)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "rtassay experiment file", **schema}


_TABLES: Final = (
    ("at the top of the file", ExperimentFile),
    ("[settings]", Settings),
    ("[acceptance]", Acceptance),
    ("[[loads]]", Load),
    ("[[scenarios]]", Scenario),
    ("[cool_down]", CoolDown),
    ("[preset]", Preset),
    ("[corrected]", Correction),
    ("[kernels.build]", KernelBuild),
)


def places() -> dict[str, tuple[str, ...]]:
    """Every key that occurs anywhere in an experiment file, and the tables that it may stand in, for people."""
    found: dict[str, tuple[str, ...]] = {}
    for table, kind in _TABLES:
        for field in msgspec.structs.fields(kind):
            found[field.encode_name] = (*found.get(field.encode_name, ()), table)
    return found
