"""What `prove` plans and finds: stages of runs, the worth of each setting, the set that is left. Schema rtassay/prove/1."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from rtassay.model.findings import Assumption
from rtassay.model.ranking import Confirmation
from rtassay.model.tuning import TuningPlan

HELPS: Final = "helps"
HARMS: Final = "harms"
NO_EFFECT: Final = "no effect"  # above `at_most`
REDUNDANT: Final = "redundant"  # other settings of the set do the same; one of them is enough
CANNOT_TELL: Final = "cannot tell"
WORDS: Final = (HELPS, HARMS, REDUNDANT, NO_EFFECT, CANNOT_TELL)

UNCHANGED: Final = "unchanged"  # the board as it is, against itself
TOGETHER: Final = "together"  # all settings against none
GROUPS: Final = "groups"  # all settings but those of one group
MEMBERS: Final = "members"  # all settings but one
ALONE: Final = "alone"  # of a group, one setting only
CONFIRM: Final = "confirm"  # the set that is left against none
ONE: Final = "one"  # one setting against none
STAGES: Final = (UNCHANGED, TOGETHER, GROUPS, MEMBERS, ALONE, CONFIRM, ONE)

QUANTILE: Final = 0.9999
"""The response of a run is ln of this quantile, of the lane where it is largest."""
TWO: Final = math.log(2)


@dataclass(frozen=True, slots=True)
class Subject:
    """One setting of the plan. `group`: its mechanism; settings of one group may do the same."""

    id: str
    group: str


@dataclass(frozen=True, slots=True)
class Arm:
    """Runs with the settings `applied`, `runs` of them in each block.

    `asks`: the setting or group whose worth it shows against the arm `against`; an arm without is a reference. `adds`: this arm has what it
    asks about, and its reference lacks it; else the other way round.
    """

    name: str
    applied: tuple[str, ...]
    runs: int = 1
    asks: str = ""
    against: str = ""
    adds: bool = False


@dataclass(frozen=True, slots=True)
class Stage:
    """Arms measured in turns, in `blocks` that each hold all of them. `level`: chance of one false finding or more in this stage.

    `what`: the group a stage ALONE is about.
    """

    name: str
    arms: tuple[Arm, ...]
    blocks: int
    level: float
    what: str = ""

    @property
    def runs(self) -> int:
        """Of all arms and blocks."""
        return self.blocks * sum(arm.runs for arm in self.arms)

    @property
    def title(self) -> str:
        """Its name, with the group where it is about one."""
        return f"{self.name}-{self.what}" if self.what else self.name


@dataclass(frozen=True, slots=True)
class Rules:
    """How much is measured and how strictly it is judged.

    `level`: chance of one false finding or more in a whole campaign, if runs scatter as a normal distribution; with heavier tails it is below
    0.05 (bench/PROVING.md). `blocks`: of the stages of groups and members; `references`: runs of the reference in each of their blocks; `pairs`: blocks of four
    runs of a stage with two arms; `unchanged`: runs before all others. `threshold`: a factor (as ln) below which an effect is of no use.
    """

    level: float = 0.03
    blocks: int = 2
    references: int = 2
    pairs: int = 2
    unchanged: int = 4
    threshold: float = math.log(1.05)
    power: float = 0.9


@dataclass(frozen=True, slots=True)
class Run:
    """What one run tells. `response`: ln of its quantile in ns; `resolution`: the share of it that one step of the clock or bin is.

    `star`: ln of D*; None where the run is too short to demonstrate any. `recording`: its id.
    """

    arm: str
    block: int
    response: float
    resolution: float = 0.0
    star: float | None = None
    recording: str = ""


@dataclass(frozen=True, slots=True)
class Effect:
    """Latency without the settings over that with them: above 1 they help.

    `lo`, `hi`: 95 % interval of Student's t, from the scatter of all runs of the stage. `p`: two-sided, `p_holm` corrected over the
    questions of the stage.
    """

    ratio: float
    lo: float
    hi: float
    p: float
    p_holm: float
    freedom: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What a stage tells about one setting, group or set. `word`: one of WORDS. `effect` None: an arm has no run, or nothing scatters.

    `at_most`: of NO_EFFECT, the share by which it could at most help or harm; `more_runs`: of CANNOT_TELL, how many more runs it needs, of
    this arm and its reference together. `star`: the same effect on D*, shown and not tested. `recordings`: of the arm, then its reference.
    """

    asks: str
    word: str
    effect: Effect | None
    star: Effect | None = None
    at_most: float | None = None
    more_runs: int | None = None
    recordings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """A stage with its answers. `sd`: scatter of ln of the response between equal runs, with its 80 % limits; None with too few runs.

    `smallest`: the factor that a setting must have for a chance `Rules.power` to be found in a stage of this size.
    """

    stage: Stage
    answers: tuple[Answer, ...]
    runs: int
    sd: float | None
    sd_limits: tuple[float, float] | None
    smallest: float | None

    def of(self, asks: str) -> Answer | None:
        """The answer about a setting or group."""
        return next((answer for answer in self.answers if answer.asks == asks), None)


@dataclass(frozen=True, slots=True)
class Worth:
    """What is known of one setting in the end. `stage`: of the answer. `partners`: of REDUNDANT, settings that do the same."""

    id: str
    group: str
    word: str
    answer: Answer | None
    stage: str
    partners: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Campaign:
    """Everything that is decided so far.

    `chosen`: the settings that are left; `confirmed`: their worth in the confirming runs, which alone is quoted. `next`: the stage that is
    to be measured; None at the end, and `ended_at` is then the last stage.
    """

    worths: tuple[Worth, ...]
    chosen: tuple[str, ...]
    confirmed: Answer | None
    next: Stage | None
    ended_at: str | None = None
    stages: tuple[Judged, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Counted:
    """One run of a campaign. `value_ns`: its quantile, of the lane where it is largest; None with the reason `left_out`.

    `temperature_c`: mean of the hottest zone over the run, None where the board tells none.
    """

    recording: str
    stage: str
    arm: str
    block: int
    value_ns: float | None
    star_ns: float | None = None
    temperature_c: float | None = None
    left_out: str | None = None


@dataclass(frozen=True, slots=True)
class Side:
    """All runs with some settings, judged as one.

    `state` None: no deadline was stated; `assumes`: what it takes for granted. `star_ns`: D*, None where they demonstrate none.
    """

    title: str
    settings: tuple[str, ...]
    runs: int
    boots: int
    state: str | None
    star_ns: int | None
    temperature_c: float | None
    assumes: tuple[Assumption, ...] = ()


@dataclass(frozen=True, slots=True)
class Beside:
    """What the settings that are left cost beside latency: a ratio, with them over without, and its 95 % interval where there is one."""

    name: str
    ratio: float
    lo: float | None
    hi: float | None


@dataclass(frozen=True, slots=True)
class Foretold:
    """The largest cause of late wake-ups that is gone with a setting: what the traces of the runs without it predicted, and what was measured.

    `found` None: all causes that were there without it are there with it, too; or no late wake-up was `traced` without it.
    """

    id: str
    found: Confirmation | None
    traced: bool = True


@dataclass(frozen=True, slots=True)
class Proof:
    """A campaign with everything that a report or an export says of it.

    `before`, `after`: without the settings that are left, and with them, in the runs that are quoted; None before there are any. `path`: of
    the campaign. `goal`: what the board is for, as `--goal` takes it. `left_ns`: expected time for the next stage. `causes`: of the settings whose runs were
    traced, both with and without them.
    """

    name: str
    path: str
    board: str
    kernel: str | None
    load: str
    deadline_ns: int | None
    p: float | None
    per_hour: float | None
    confidence: float
    quantile: float
    duration_ns: int | None
    rules: Rules
    goal: str | None
    campaign: Campaign
    runs: tuple[Counted, ...]
    tuning: TuningPlan
    before: Side | None = None
    after: Side | None = None
    beside: tuple[Beside, ...] = ()
    causes: tuple[Foretold, ...] = ()
    left_ns: int = 0
    created: str = ""

    @property
    def proven(self) -> tuple[Worth, ...]:
        """The settings that are left, in the order of the plan."""
        return tuple(worth for worth in self.campaign.worths if worth.id in self.campaign.chosen)

    def title(self, id_: str) -> str:
        """What a setting is, in a few words."""
        return next((one.title for one in self.tuning.settings if one.id == id_), id_)


def proof_dict(proof: Proof) -> dict[str, Any]:
    """The object of `rtassay prove --json`."""
    data = asdict(proof)
    tuning = data.pop("tuning")
    campaign = data.pop("campaign")
    return {"schema": "rtassay/prove/1", **data, **campaign, "settings": tuning["settings"]}
