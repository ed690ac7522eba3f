"""Runs of one lane to levels beyond the data, or to reasons why not: the order of the steps."""

from __future__ import annotations

import numpy as np

from rtassay.analysis.tail import doubts, refusals
from rtassay.analysis.tail.calibration import sides
from rtassay.analysis.tail.clusters import Exceeding, Run, Tail
from rtassay.analysis.tail.gev import Blocks
from rtassay.analysis.tail.gpd import Floats, level
from rtassay.analysis.tail.thresholds import Threshold, candidates, chosen, fitted
from rtassay.model.extrapolation import Band, BlockMaxima, LaneExtrapolation, Level, Refusal, Test, ThresholdRow

MODE_EVENTS = 3
SPREAD = 0.25
SHAPE_SPREAD = 0.1
MOST_BURSTS = 20_000
BAND_POINTS = 40
SEEN_POINTS = 400
Limits = tuple[float, float, float]


def extrapolate(
    name: str, runs: tuple[Run, ...], levels: tuple[float, ...], confidence: float, *, figure: bool = True
) -> LaneExtrapolation:
    """Levels exceeded with each probability of `levels`, by the runs of one lane; for a `figure` also the curves and the levels of all
    thresholds."""
    tail = Tail(runs)
    work = _Work(name, tail, tuple(sorted(levels, reverse=True)), confidence, figure)
    stop = refusals.unusable(tail)
    found = candidates(tail)
    if stop or not found:
        return work.refused(stop or [refusals.few(tail)], (), [], None, None)
    rows = [fitted(exceeding) for exceeding in found]
    at = chosen(rows)
    if at is None:
        return work.refused([refusals.no_threshold([row.p_shape for row in rows])], (), rows, None, None)
    return work.judged(rows, at)


class _Work:
    def __init__(self, name: str, tail: Tail, levels: tuple[float, ...], confidence: float, figure: bool) -> None:
        self.name, self.tail, self.levels, self.confidence, self.figure = name, tail, levels, confidence, figure

    def judged(self, rows: list[Threshold], at: int) -> LaneExtrapolation:
        row, lowest = rows[at], _lowest(rows[0].exceeding)
        tests = (
            doubts.mixture(row),
            doubts.unstable(rows, at),
            doubts.halves(row),
            doubts.drift(lowest),
            doubts.runs_differ(lowest, row),
        )
        stop = [refusals.failed(test) for test in tests if test.p is not None and test.p < test.alpha]
        xi = _shape_limits(row)
        if xi[1] > doubts.HEAVY:
            stop.append(refusals.heavy(row.fit.xi, xi[1]))
        blocks = doubts.block_maxima(lowest)
        if not stop and blocks is not None:
            stop += self._disagreement(row, *blocks, lowest.theta)
        if stop:
            return self.refused(stop, tests, rows, at, blocks)
        return self._lane((), tests, rows, at, blocks, xi)

    def refused(
        self,
        stop: list[Refusal],
        tests: tuple[Test, ...],
        rows: list[Threshold],
        at: int | None,
        blocks: tuple[Blocks, int] | None,
    ) -> LaneExtrapolation:
        return self._lane(tuple(stop), tests, rows, at, blocks, None)

    def limits(self, row: Threshold, p: float) -> Limits:
        """(estimate, low, high) in ns of the level with P(latency > level) = p; within the data if p is above the threshold's own share."""
        ratio = row.exceeding.share / p
        base = row.exceeding.threshold_ns
        if ratio <= 1:
            return (float(base),) * 3
        low, high = row.profile.limits(
            lambda sigma, tau: level(sigma, tau, ratio), *sides(row.m, ratio, self.confidence, row.profile.fine)
        )
        best = level(np.array([row.fit.sigma]), np.array([row.fit.xi / row.fit.sigma]), ratio)[0]
        return base + float(best), base + low, base + high

    def _by_blocks(self, blocks: Blocks, length: int, theta: float, p: float) -> Limits:
        """The level by block maxima: a block has theta p length bursts above it on average."""
        from scipy.special import ndtri

        fall = float(ndtri((1 + self.confidence) / 2)) ** 2 / 2
        return blocks.limits(theta * p * length, fall)

    def _disagreement(self, row: Threshold, blocks: Blocks, length: int, theta: float) -> list[Refusal]:
        for p in self.levels:
            if 1 < 1 / (p * self.tail.n) <= refusals.TOO_FAR:
                first, second = self.limits(row, p), self._by_blocks(blocks, length, theta, p)
                tick = self.tail.tick_ns
                apart = first[1] > second[2] + tick or second[1] > first[2] + tick
                outside = (
                    not first[1] - tick <= second[0] <= first[2] + tick
                    and not second[1] - tick <= first[0] <= second[2] + tick
                )
                if apart or outside:
                    return [refusals.routes(first, second, p, blocks.fit)]
        return []

    def _lane(
        self,
        stop: tuple[Refusal, ...],
        tests: tuple[Test, ...],
        rows: list[Threshold],
        at: int | None,
        blocks: tuple[Blocks, int] | None,
        xi: tuple[float, float] | None,
    ) -> LaneExtrapolation:
        tail, answer = self.tail, at is not None and not stop
        levels = tuple(self._level(p, rows[at], blocks) for p in self.levels) if answer and at is not None else ()
        shown = tuple(self._row(row, i == at, answer and self.figure) for i, row in enumerate(rows))
        seen_ns, seen_p = _seen(tail)
        return LaneExtrapolation(
            name=self.name,
            runs=tuple(run.name for run in tail.runs),
            n=tail.n,
            interval_ns=tail.interval_ns,
            tick_ns=tail.tick_ns,
            max_ns=int(tail.sorted[-1]) if tail.sorted.size else None,
            p_mode=min(1.0, MODE_EVENTS / tail.n) if tail.n else None,
            levels=levels,
            refusals=stop,
            assumes=self._assumes(tests),
            notes=_notes(shown, at) if answer else (),
            tests=tests,
            thresholds=shown,
            xi_lo=xi[0] if xi else None,
            xi_hi=xi[1] if xi else None,
            blocks=_block_maxima(blocks),
            band=self._band(rows[at]) if answer and at is not None and self.figure else None,
            seen_ns=seen_ns,
            seen_p=seen_p,
        )

    def _level(self, p: float, row: Threshold, blocks: tuple[Blocks, int] | None) -> Level:
        n = self.tail.n
        if 1 / (p * n) > refusals.TOO_FAR * (1 + 1e-9):
            return Level(p, 1 / (p * n), None, None, None, None, None, refusals.too_far(p, n))
        best, low, high = (round(value) for value in self.limits(row, p))
        second = None
        if blocks is not None and row.exceeding.share > p:
            second = round(self._by_blocks(*blocks, row.exceeding.theta, p)[0])
        rate = doubts.events_per_h(p, row.exceeding.theta, self.tail.interval_ns)
        return Level(p, 1 / (p * n), best, low, high, rate, second)

    def _row(self, row: Threshold, is_chosen: bool, with_levels: bool) -> ThresholdRow:
        limits = [tuple(round(value) for value in self.limits(row, p)) for p in self.levels] if with_levels else None
        exceeding = row.exceeding
        return ThresholdRow(
            threshold_ns=exceeding.threshold_ns,
            exceedances=exceeding.size,
            clusters=exceeding.clusters,
            distinct=int(row.excesses.y.size),
            theta=exceeding.theta,
            theta_k=exceeding.theta_k(),
            theta_minutes=exceeding.theta_at_minutes(),
            xi=row.fit.xi,
            sigma_ns=row.fit.sigma,
            log_likelihood=row.fit.log_likelihood,
            p_shape=row.p_shape,
            chosen=is_chosen,
            levels_ns=tuple(each[0] for each in limits) if limits else None,
            lo_ns=tuple(each[1] for each in limits) if limits else None,
            hi_ns=tuple(each[2] for each in limits) if limits else None,
        )

    def _assumes(self, tests: tuple[Test, ...]) -> tuple[str, ...]:
        """Codes of what the data could not test."""
        found = []
        if not self.tail.ordered:
            found.append("ORDER-UNKNOWN")
        if any(run.stripped for run in self.tail.runs):
            found.append("OVERFLOW-UNKNOWN")
        if len(self.tail.runs) < 3:
            found.append("FEW-RUNS")
        return (
            *found,
            *(f"{test.code}-UNTESTED" for test in tests if test.p is None and test.code == "HALVES-DISAGREE"),
        )

    def _band(self, row: Threshold) -> Band:
        """From the threshold to 100 times the data, or the farthest level asked for."""
        last = max(min(self.levels), 1 / (refusals.TOO_FAR * self.tail.n))
        p = np.geomspace(row.exceeding.share * 0.999, min(last, row.exceeding.share / 2), BAND_POINTS)
        curves = np.array([self.limits(row, float(each)) for each in p]).round().astype(np.int64)
        best, low, high = (tuple(column) for column in curves.T.tolist())
        return Band(tuple(p.tolist()), best, low, high)


def _lowest(exceeding: Exceeding) -> Exceeding:
    """A lower threshold for tests that need many bursts: everything kept, up to 1 % of the samples and MOST_BURSTS."""
    tail = exceeding.tail
    low = tail.above(max(tail.floor_ns, tail.threshold(min(MOST_BURSTS, int(0.01 * tail.n)))))
    return low if low.clusters >= exceeding.clusters else exceeding


def _shape_limits(row: Threshold) -> tuple[float, float]:
    """95 % limits of xi by the profile likelihood."""

    def fall(xi: Floats) -> Floats:
        return np.full(xi.shape, 1.9207)

    return row.profile.limits(lambda sigma, tau: sigma * tau, fall, fall)


def _notes(rows: tuple[ThresholdRow, ...], at: int | None) -> tuple[str, ...]:
    """THRESHOLDS-SPREAD: over the thresholds the shape moves by more than SHAPE_SPREAD, or the farthest level by more than SPREAD of it."""
    last = [row.levels_ns[-1] for row in rows if row.levels_ns]
    if at is None or not last:
        return ()
    shapes = [row.xi for row in rows]
    moved = max(shapes) - min(shapes) > SHAPE_SPREAD or max(last) - min(last) > SPREAD * last[at]
    return ("THRESHOLDS-SPREAD",) if moved else ()


def _block_maxima(blocks: tuple[Blocks, int] | None) -> BlockMaxima | None:
    if blocks is None:
        return None
    mu, sigma, xi = blocks[0].fit.parameters
    return BlockMaxima(blocks[0].m + blocks[0].empty, blocks[1], mu, sigma, xi)


def _seen(tail: Tail) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The largest measured values and the share of samples at or above each, thinned for a figure."""
    if not tail.sorted.size:
        return (), ()
    rank = np.unique(np.geomspace(1, tail.sorted.size, SEEN_POINTS).astype(np.int64))
    return tuple(tail.sorted[-rank].tolist()), tuple((rank / tail.n).tolist())
