"""The order of a campaign: from the stages that were measured to the next one, or to the end. Pure, so a resumed one decides alike.

Leaving one out of all settings sees what switching one on cannot: where several sources are alike large, removing one changes nothing while
the others are there. It cannot see a setting whose work another one also does; so whole groups are left out first, and of a group
that matters without any of its members doing so, each member is tried alone (docs/method/proving.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from rtassay.model.proving import (
    ALONE,
    CANNOT_TELL,
    CONFIRM,
    GROUPS,
    HARMS,
    HELPS,
    MEMBERS,
    NO_EFFECT,
    ONE,
    REDUNDANT,
    TOGETHER,
    UNCHANGED,
    Answer,
    Arm,
    Campaign,
    Judged,
    Rules,
    Stage,
    Subject,
    Worth,
)

STOCK = "stock"
ALL = "all"
CHOSEN = "chosen"
FOUND = (HELPS, HARMS)


def decide(subjects: Sequence[Subject], rules: Rules, done: Sequence[Judged]) -> Campaign:
    """What follows from the stages `done` (in their order): the worth of each setting, and the next stage."""
    return _One(subjects[0], rules, done).campaign() if len(subjects) == 1 else _Many(subjects, rules, done).campaign()


def unchanged(rules: Rules) -> Stage:
    """The board as it is, so often."""
    return Stage(UNCHANGED, (Arm(STOCK, (), rules.unchanged),), 1, rules.level)


def _pair(name: str, arm: str, applied: tuple[str, ...], asks: str, rules: Rules) -> Stage:
    """Settings against none: blocks of four, two of each."""
    arms = (Arm(STOCK, (), 2), Arm(arm, applied, 2, asks, STOCK, adds=True))
    return Stage(name, arms, rules.pairs, rules.level)


def stage_level(subjects: Sequence[Subject], rules: Rules) -> float:
    """The level of the stages that single out settings. Groups, members and members alone are three chances of a false finding; with
    groups of one setting each there is one."""
    return rules.level if len({subject.group for subject in subjects}) == len(subjects) else rules.level / 3


class _Known:
    """The stages by their title."""

    def __init__(self, done: Sequence[Judged]) -> None:
        self.stages = tuple(done)
        self._by_title = {judged.stage.title: judged for judged in done}

    def stage(self, title: str) -> Judged | None:
        return self._by_title.get(title)

    def answer(self, title: str, asks: str) -> Answer | None:
        judged = self.stage(title)
        return None if judged is None else judged.of(asks)


class _One(_Known):
    """A question about one setting."""

    def __init__(self, subject: Subject, rules: Rules, done: Sequence[Judged]) -> None:
        super().__init__(done)
        self._subject, self._rules = subject, rules

    def campaign(self) -> Campaign:
        """Unchanged runs, then the setting against none: the question was put before any run, so nothing is to be confirmed."""
        id_ = self._subject.id
        answer = self.answer(ONE, id_)
        word = CANNOT_TELL if answer is None else answer.word
        worth = Worth(id_, self._subject.group, word, answer, ONE)
        following = None
        if self.stage(UNCHANGED) is None:
            following = unchanged(self._rules)
        elif answer is None:
            following = _pair(ONE, id_, (id_,), id_, self._rules)
        chosen = (id_,) if word == HELPS else ()
        return Campaign((worth,), chosen, answer, following, None if following else ONE, self.stages)


class _Many(_Known):
    """A set of settings."""

    def __init__(self, subjects: Sequence[Subject], rules: Rules, done: Sequence[Judged]) -> None:
        super().__init__(done)
        self._subjects, self._rules = tuple(subjects), rules
        self._all = tuple(subject.id for subject in subjects)
        names = tuple(dict.fromkeys(subject.group for subject in subjects))
        self._groups = {name: tuple(s.id for s in subjects if s.group == name) for name in names}
        self._level = stage_level(subjects, rules)

    def campaign(self) -> Campaign:
        """See `decide`."""
        following, ended = self._next()
        worths = tuple(self._worth(subject) for subject in self._subjects)
        chosen = _chosen(worths) if self._looked_at_members() else ()
        return Campaign(worths, chosen, self.answer(CONFIRM, CHOSEN), following, ended, self.stages)

    def _next(self) -> tuple[Stage | None, str | None]:
        """(the next stage, None), or (None, the stage it ends at)."""
        if self.stage(UNCHANGED) is None:
            return unchanged(self._rules), None
        together = self.answer(TOGETHER, ALL)
        if together is None:
            return _pair(TOGETHER, ALL, self._all, ALL, self._rules), None
        if together.word == NO_EFFECT:
            return None, TOGETHER
        for stage in (self._group_stage(), self._member_stage(), *self._alone_stages()):
            if stage is not None and self.stage(stage.title) is None:
                return stage, None
        chosen = _chosen(tuple(self._worth(subject) for subject in self._subjects))
        if not chosen:
            return None, MEMBERS
        if self.stage(CONFIRM) is None:
            return _pair(CONFIRM, CHOSEN, chosen, CHOSEN, self._rules), None
        return None, CONFIRM

    def _group_stage(self) -> Stage | None:
        """None with one group: without it nothing is left, and the stage of all settings told what it is worth."""
        if len(self._groups) == 1:
            return None
        return self._leave_out(GROUPS, dict(self._groups))

    def _member_stage(self) -> Stage | None:
        """Members of the groups that matter. A group of one setting is answered by the stage of groups."""
        asked: dict[str, tuple[str, ...]] = {id_: (id_,) for name in self._mattering() for id_ in self._groups[name]}
        return self._leave_out(MEMBERS, asked) if asked else None

    def _leave_out(self, stage: str, parts: dict[str, tuple[str, ...]]) -> Stage:
        arms = [Arm(ALL, self._all, self._rules.references)]
        for name, out in parts.items():
            applied = tuple(id_ for id_ in self._all if id_ not in out)
            arms.append(Arm(f"without {name}", applied, 1, name, ALL))
        return Stage(stage, tuple(arms), self._rules.blocks, self._level)

    def _mattering(self) -> list[str]:
        """Groups of several settings whose members are looked at: those that were found, and those that could be (p below 0.1)."""
        found = []
        for name, members in self._groups.items():
            if len(members) > 1 and (answer := self._of_group(name)) is not None:
                likely = answer.effect is not None and answer.effect.p < 0.1
                if answer.word in FOUND or likely:
                    found.append(name)
        return found

    def _of_group(self, name: str) -> Answer | None:
        return self.answer(TOGETHER, ALL) if len(self._groups) == 1 else self.answer(GROUPS, name)

    def _alone_stages(self) -> list[Stage]:
        """One for each group that helps although none of its members alone is missed."""
        return [self._alone_stage(name) for name in self._mattering() if self._redundant_inside(name)]

    def _redundant_inside(self, name: str) -> bool:
        group = self._of_group(name)
        answers = [self.answer(MEMBERS, id_) for id_ in self._groups[name]]
        return group is not None and group.word == HELPS and not any(a is None or a.word == HELPS for a in answers)

    def _alone_stage(self, name: str) -> Stage:
        members = self._groups[name]
        without = tuple(id_ for id_ in self._all if id_ not in members)
        reference = Arm(f"without {name}", without, self._rules.references)
        arms = [
            Arm(
                f"only {id_} of {name}",
                tuple(i for i in self._all if i in without or i == id_),
                1,
                id_,
                reference.name,
                True,
            )
            for id_ in members
        ]
        return Stage(ALONE, (reference, *arms), self._rules.blocks, self._level, name)

    def _looked_at_members(self) -> bool:
        return self.stage(GROUPS if len(self._groups) > 1 else MEMBERS) is not None

    def _worth(self, subject: Subject) -> Worth:
        """The last answer about it."""
        alone_title = f"{ALONE}-{subject.group}"
        alone, member = self.answer(alone_title, subject.id), self.answer(MEMBERS, subject.id)
        if alone is not None and (member is None or member.word != HARMS):
            return self._by_alone(subject, alone, alone_title)
        if member is not None:
            return Worth(subject.id, subject.group, member.word, member, MEMBERS)
        together = self.answer(TOGETHER, ALL)
        if together is not None and together.word == NO_EFFECT:
            return Worth(subject.id, subject.group, NO_EFFECT, together, TOGETHER)
        group = self._of_group(subject.group) if self._looked_at_members() else None
        if group is None or (len(self._groups[subject.group]) > 1 and group.word in FOUND):
            return Worth(subject.id, subject.group, CANNOT_TELL, None, "")
        return Worth(subject.id, subject.group, group.word, group, GROUPS)

    def _by_alone(self, subject: Subject, alone: Answer, title: str) -> Worth:
        """Of a group without which it is worse and of which no single member is missed: those that help alone are redundant."""
        able = [id_ for id_ in self._groups[subject.group] if (a := self.answer(title, id_)) and a.word == HELPS]
        if alone.word != HELPS:
            return Worth(subject.id, subject.group, alone.word, alone, title)
        partners = tuple(id_ for id_ in able if id_ != subject.id)
        return Worth(subject.id, subject.group, REDUNDANT if partners else HELPS, alone, title, partners)


def _chosen(worths: Sequence[Worth]) -> tuple[str, ...]:
    """Settings that help, and of those that do the same the first of the plan."""
    found: list[str] = []
    for worth in worths:
        if worth.word == HELPS or (worth.word == REDUNDANT and not set(worth.partners) & set(found)):
            found.append(worth.id)
    return tuple(found)
