"""The answer on one screen: verdict, D*, the table every cyclictest user knows with percentiles, checks, next step."""

from __future__ import annotations

import textwrap
from dataclasses import replace

from rtassay.model import warnings
from rtassay.model.findings import CheckResult, Findings, LaneFindings
from rtassay.model.foreign import one_line, printable
from rtassay.model.recording import Recording
from rtassay.model.units import format_time
from rtassay.reports import wording
from rtassay.reports.base import JudgedRecording
from rtassay.reports.recording import counters, jitter, load_work, noise, outliers, recording_text
from rtassay.reports.recording.answer import Answer, answer

_STEPS = (0.5, 0.99, 0.999, 0.9999, 0.99999)
_STATE_COLOURS = {"VIOLATED": "1;31", "HOLDS": "1;32", "NOT DEMONSTRATED": "1;33", "INVALID MEASUREMENT": "1;35"}
_SEVERITY_COLOURS = {"invalid": "35", "warning": "33", "note": "36", "unknown": "2"}
_MOST_LANES = 16
_SCREEN = 24


class TerminalRecording:
    """Plain text of at most `width` columns (None: as wide as it needs, for files and pipes), ANSI colour only where asked; states and severities are always words too."""

    name = "recording.terminal"
    suffix = ".txt"
    summary = "one screen of text"

    def __init__(self, width: int | None = 100, color: bool = False) -> None:
        self.width = None if width is None else max(width, 40)
        self.color = color

    def render(self, subject: JudgedRecording) -> bytes:
        findings, recording = subject.findings, subject.recording
        said = answer(findings, recording)
        lines = self._lines(subject, said, self._loads(recording))
        if len(lines) > _SCREEN:  # the work of the loads gives way to checks that fired
            lines = self._lines(subject, said, [])
        if len(lines) > _SCREEN:  # and so do reasons that stand among the checks again
            lines = self._lines(subject, replace(said, because=()), [])
        return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")

    def _lines(self, subject: JudgedRecording, said: Answer, of_loads: list[str]) -> list[str]:
        findings = subject.findings
        top = [*self._head(findings, subject.recording, said), *of_loads, "", *self._table(findings), ""]
        if (apart := jitter.in_words(findings)) is not None:
            top[-1:] = [*self._wrap(f"Jitter: {apart}", 1, indent="        "), ""]
        if (taken := noise.in_words(findings, subject.recording)) is not None:
            top[-1:] = [*self._wrap(f"Noise: {taken}", 2, indent="       "), ""]
        if (counted := counters.in_words(findings)) is not None:
            top[-1:] = [*self._wrap(f"Counters: {counted}", 2, indent="          "), ""]
        if subject.causes is not None and subject.causes.answered:
            from rtassay.reports.causes import causes_text

            told = f"Causes: {causes_text.headline(subject.causes)}; rtassay causes {one_line(findings.id, 40)}"
            top[-1:] = [*self._wrap(told, 2, indent="        "), ""]
        elif (worst := outliers.in_words(findings)) is not None:
            top[-1:] = [*self._wrap(f"Worst: {worst}", 2, indent="       "), ""]
        if events := _events(subject.recording):
            top[-1:] = [*self._wrap(f"Note: {events}", 2, indent="      "), ""]
        end = self._wrap(f"Next: {said.advice}", indent="      ")
        if said.command is not None:
            end += self._shell(printable(said.command))
        room = _SCREEN - len(top) - len(end) - 1
        return [*top, *self._checks(findings, room), *end]

    def _head(self, findings: Findings, recording: Recording, said: Answer) -> list[str]:
        where = [
            recording_text.board(findings, 40),
            one_line(findings.kernel or "kernel not known", 40),
            f"load {one_line(findings.load, 40)}",
            "duration not known" if findings.duration_s is None else wording.span(findings.duration_s),
        ]
        state = recording_text.state(findings)
        lines = [self._cut(f"{recording_text.called(findings)}: {', '.join(where)}")]
        first = self._wrap(said.line)
        first[0] = self._paint(_STATE_COLOURS.get(state, "1"), state) + first[0][len(state) :]
        lines += first
        if said.scope:
            lines += self._wrap(said.scope)
        for reason in said.because:
            lines += self._wrap(f"because {reason}")
        headline = self._headline(findings, recording)
        return [*lines, *(self._wrap(headline) if headline else [])]

    def _loads(self, recording: Recording) -> list[str]:
        done = load_work.in_words(recording)
        return [] if done is None else self._wrap(f"Load: {done}", 2, indent="      ")

    def _headline(self, findings: Findings, recording: Recording) -> str:
        lane = recording_text.demonstrated(findings)
        parts = []
        if lane is not None:
            deadline = lane.demonstrated.deadline_ns
            star = "none yet" if deadline is None else format_time(deadline)
            sure = wording.percent(recording_text.confidence(findings, recording))
            parts.append(
                f"D* {star} ({recording_text.star_is_for(lane, '<=')}, {sure}, {recording_text.label_of(findings, lane.name)}){recording_text.trust(findings)}"
            )
        if findings.verdict and findings.verdict.safety_factor is not None:
            parts.append(f"safety factor {wording.factor(findings.verdict.safety_factor)} (falls with time)")
        if missions := recording_text.new_record(findings):
            time, chance = missions[0]
            parts.append(f"new maximum in the next {time}: {chance}")
        return "; ".join(parts)

    def _table(self, findings: Findings) -> list[str]:
        labels = list(zip(recording_text.lane_labels(findings), findings.lanes, strict=True))
        left_out = len(labels) - _MOST_LANES
        if left_out > 0:
            keep = sorted(range(len(labels)), key=lambda i: -(labels[i][1].max_ns or 0))[:_MOST_LANES]
            labels = [labels[i] for i in sorted(keep)]
        if len(findings.lanes) > 1 and not recording_text.of_works(findings):
            labels.append(("all", findings.pooled))
        places = recording_text.digits(findings)
        head = ["us", "Total", "Min", "Avg", "Max", *(wording.quantile_name(q) for q in _STEPS), "missed"]
        rows = [head, *(_row(label, lane, places) for label, lane in labels)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
        hidden = []
        while self.width is not None and sum(widths) + len(widths) - 1 > self.width and len(head) > 6:
            drop = 5  # the smallest percentile goes first on a narrow terminal
            hidden.append(head[drop])
            rows = [row[:drop] + row[drop + 1 :] for row in rows]
            head, widths = rows[0], widths[:drop] + widths[drop + 1 :]
        lines = [
            " ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
            for row in rows
        ]
        lines[0] = self._paint("1", lines[0])
        if hidden:
            lines.append(self._cut(f"({', '.join(hidden)}: no room in {self.width} columns)"))
        if left_out > 0:
            lines.append(f"({left_out} lanes with smaller maxima are not shown)")
        lost = [
            (words, sum(getattr(lane, name) or 0 for lane in findings.lanes))
            for name, words in (("dropped", "dropped"), ("truncated", "truncated"), ("over", "beyond the last bin"))
        ]
        if any(number for _, number in lost):
            lines.append(self._cut(", ".join(f"{words}: {number:,}" for words, number in lost if number)))
        return lines

    def _checks(self, findings: Findings, room: int) -> list[str]:
        """Checks that did not pass, as many as the screen holds; invalid ones and warnings always."""
        shown = recording_text.told_checks(findings)
        unlooked = recording_text.unlooked(findings)
        blind = f"{len(unlooked)} unknown" if unlooked else ""
        grave = sum(check.severity in ("invalid", "warning") or check.waived is not None for check in shown)
        fit = len(shown) if len(shown) <= room - bool(unlooked) else max(room - 1, grave, 1)
        lines = [self._cut(f"Checks: {recording_text.check_summary(findings)}")]
        for check in shown[:fit]:
            lines += self._check(check)
        if len(shown) > fit:
            more = f"{len(shown) - fit} more{f' and {blind}' if blind else ''}"
            lines.append(self._cut(f"  ... and {more}: rtassay report {one_line(findings.id, 40)}"))
        elif unlooked:
            text = f"  {blind}, could not be looked at: {', '.join(check.id for check in unlooked)}"
            lines.append(self._paint(_SEVERITY_COLOURS["unknown"], self._cut(text)))
        return lines

    def _check(self, check: CheckResult) -> list[str]:
        """One line; what makes the measurement invalid is told in full."""
        text = f"  {check.severity:<7} {check.id}: {recording_text.check_text(check)}"
        lines = self._wrap(text, 4, indent=" " * 10) if check.severity == "invalid" else [self._cut(text)]
        start = 2 + len(check.severity)
        painted = "  " + self._paint(_SEVERITY_COLOURS.get(check.severity, "0"), check.severity) + lines[0][start:]
        return [painted, *lines[1:]]

    def _cut(self, text: str) -> str:
        text = printable(text)
        return text if self.width is None or len(text) <= self.width else text[: self.width - 3] + "..."

    def _wrap(self, text: str, most: int | None = None, indent: str = "  ") -> list[str]:
        """In at most so many lines; None: whole, as all that belongs to the verdict."""
        if self.width is None:
            return [printable(text)]
        wrapped = textwrap.wrap(
            printable(text),
            self.width,
            subsequent_indent=indent,
            break_on_hyphens=False,
            max_lines=most,
            placeholder=" ...",
        )
        return wrapped or [""]

    def _shell(self, command: str) -> list[str]:
        """The command whole, over several lines if it must be, so that it can be copied into a shell."""
        if self.width is None:
            return [f"      {command}"]
        lines = textwrap.wrap(command, self.width - 8, break_long_words=False, break_on_hyphens=False)
        return [f"      {line} \\" for line in lines[:-1]] + [f"      {line}" for line in lines[-1:]]

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color else text


def _events(recording: Recording) -> str:
    """What the run warned of, without the doubts of counts: COUNT-MISMATCH tells those."""
    manifest = recording.manifest
    told = [one for one in manifest.warnings if one.code not in warnings.DOUBTS_OF_COUNTS]
    return one_line("; ".join(warnings.words(one, manifest.lanes) for one in told), 400)


def _row(label: str, lane: LaneFindings, places: int) -> list[str]:
    ladder = {q.q: q for q in lane.quantiles}
    cells = [
        label,
        wording.count(lane.n),
        wording.us(lane.min_ns, places),
        wording.us(lane.mean_ns, places),
        wording.us(lane.max_ns, places),
    ]
    cells += [wording.quantile_cell(ladder.get(q), places).text.replace("≥ ", ">=") for q in _STEPS]
    return [*cells, wording.count(lane.missed)]
