#!/usr/bin/env python3
"""Writes src/rtassay/analysis/tail/chance_table.py: what chance gives where the parameters of a GPD are fitted.

For each shape and number of excesses, by simulation with a fixed seed: quantiles of the signed root of the likelihood ratio of a level (its
limits are calibrated by them), of Anderson and Darling's A^2, and of the likelihood ratio against two pieces. Quantiles are smoothed
over the cells by a polynomial of the shape with coefficients a + b / root of the size. About 70 s of a processor for 250 draws a cell.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from rtassay.analysis.tail.gpd import Excesses, Profile, level
from rtassay.analysis.tail.shape import anderson_darling, two_pieces

TARGET = Path(__file__).parents[1] / "src" / "rtassay" / "analysis" / "tail" / "chance_table.py"
SHAPES = (-1.0, -0.8, -0.6, -0.45, -0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7)
SIZES = (50, 100, 200, 500)
BEYOND = (1, 30, 1000)
TAILS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2)
UPPER = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)


def drawn(rng: np.random.Generator, xi: float, m: int) -> Excesses:
    """m excesses of a GPD with sigma = 1."""
    e = rng.standard_exponential(m)
    y = np.sort(np.expm1(xi * e) / xi if xi else e)
    return Excesses(y, np.ones(m), 0.0)


def signed_root(profile: Profile, ratio: float, truth: float) -> float:
    """Root of twice the fall of the likelihood at the true level; positive where the estimate is above it."""
    width = 8 * (1.2 + max(profile.fit.xi, 0)) / np.sqrt(profile.m)
    low, high = max(-1.0, profile.fit.xi - width), max(-0.9, profile.fit.xi + width)
    top = -np.inf
    for points in (41, 13, 13):
        xi = np.linspace(low, high, points)
        xi[xi == 0] = 1e-12
        sigma = truth * xi / np.expm1(xi * np.log(ratio))
        value = profile.at(sigma, xi / sigma)
        i = int(np.argmax(value))
        top = max(top, value[i])
        low, high = xi[max(i - 1, 0)], xi[min(i + 1, points - 1)]
    fit = profile.fit
    estimate = level(np.array([fit.sigma]), np.array([fit.xi / fit.sigma]), ratio)[0]
    return float(np.sign(estimate - truth) * np.sqrt(max(0.0, 2 * (fit.log_likelihood - top))))


def cell(rng: np.random.Generator, xi: float, m: int, draws: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    roots = np.empty((draws, len(BEYOND)))
    shape, pieces = np.empty(draws), []
    truths = [(m * beyond, level(np.array([1.0]), np.array([xi or 1e-12]), m * beyond)[0]) for beyond in BEYOND]
    for i in range(draws):
        data = drawn(rng, xi, m)
        profile = Profile(data)
        roots[i] = [signed_root(profile, ratio, truth) for ratio, truth in truths]
        shape[i] = anderson_darling(data, profile.fit)
        if 3 * i < draws:
            pieces.append(two_pieces(data, profile))
    probabilities = (*TAILS, *(1 - p for p in reversed(TAILS)))
    return np.quantile(roots, probabilities, axis=0).T, np.quantile(shape, UPPER), np.quantile(pieces, UPPER)


def smooth(values: np.ndarray) -> np.ndarray:
    """Each quantile by least squares over shapes (degree 4) and sizes. `values`: (shapes, sizes, ...)."""
    xi, m = (grid.ravel() for grid in np.meshgrid(SHAPES, SIZES, indexing="ij"))
    powers = np.vander(xi, 5)
    design = np.hstack([powers, powers[:, 2:] / np.sqrt(m)[:, None]])
    flat = values.reshape(xi.size, -1)
    return (design @ np.linalg.lstsq(design, flat, rcond=None)[0]).reshape(values.shape)


def written(name: str, values: np.ndarray) -> str:
    rows, line = [], ""
    for value in values.ravel():
        word = f"{value:.3f}"
        if len(line) + len(word) > 115:
            rows.append(line)
            line = ""
        line += (" " if line else "") + word
    body = "\n".join([*rows, line])
    return f'{name} = """\n{body}\n"""\n'


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--draws", type=int, default=250)
    draws = options.parse_args().draws
    roots, shapes, pieces = [], [], []
    for i, xi in enumerate(SHAPES):
        for j, m in enumerate(SIZES):
            root, shape, piece = cell(np.random.default_rng([i, j]), xi, m, draws)
            roots.append(root), shapes.append(shape), pieces.append(piece)
        print(f"xi {xi:g} done", flush=True)
    head = (
        '"""Made by tools/build_tail_tables.py: what chance gives where the parameters of a GPD are fitted. Do not edit.\n\n'
        f"{draws} draws a cell (a third for PIECES). Rows: shape, then size, then (ROOTS) BEYOND; columns: quantiles.\n"
        '"""\n\n'
    )
    axes = "".join(
        f"{name} = {value!r}\n"
        for name, value in (
            ("SHAPES", SHAPES),
            ("SIZES", SIZES),
            ("BEYOND", BEYOND),
            ("TAILS", TAILS),
            ("UPPER", UPPER),
        )
    )
    tables = zip(
        ("ROOTS", "ANDERSON_DARLING", "PIECES"), (np.array(roots), np.array(shapes), np.array(pieces)), strict=True
    )
    TARGET.write_text(head + axes + "".join(written(name, smooth(values)) for name, values in tables))


if __name__ == "__main__":
    main()
