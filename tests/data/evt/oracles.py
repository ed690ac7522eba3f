"""Writes oracles.json: what OpenTURNS and pyextremes say of the data sets here. Not a dependency of the project; to repeat it:

python3 -m venv /tmp/oracles && /tmp/oracles/bin/pip install openturns==1.27.post1 pyextremes==2.6.1
/tmp/oracles/bin/python tests/data/evt/oracles.py
"""

import csv
import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import openturns as ot
import pandas as pd
import scipy.stats
from pyextremes import EVA

HERE = Path(__file__).parent
DAYS = 365


def column(name: str, index: int) -> list[float]:
    with (HERE / name).open(encoding="utf-8-sig") as file:
        return [float(row[index]) for row in list(csv.reader(file))[1:]]


def limits(result: object) -> dict[str, list[float] | float]:
    interval = result.getParameterConfidenceInterval()
    return {"level": result.getParameter(), "limits": [interval.getLowerBound()[0], interval.getUpperBound()[0]]}


def main() -> None:
    rain, sea = column("rain.csv", 1), column("portpirie.csv", 1)
    sample, maxima = ot.Sample([[value] for value in rain]), ot.Sample([[value] for value in sea])
    pareto, extreme = ot.GeneralizedParetoFactory(), ot.GeneralizedExtremeValueFactory()
    found: dict[str, object] = {name: version(name) for name in ("openturns", "pyextremes", "scipy")}
    for u in (20.0, 30.0, 40.0):
        over = [value - u for value in rain if value > u]
        xi, _, sigma = scipy.stats.genpareto.fit(over, floc=0)
        row = {
            "scipy": {"sigma": sigma, "xi": xi, "nllh": float(-scipy.stats.genpareto.logpdf(over, xi, 0, sigma).sum())}
        }
        fit = pareto.buildMethodOfLikelihoodMaximizationEstimator(sample, u)
        row["openturns"] = {
            "parameters": list(fit.getDistribution().getParameter()),
            "log_likelihood": fit.getLogLikelihood(),
        }
        row["openturns_100_years"] = limits(
            pareto.buildReturnLevelProfileLikelihoodEstimator(sample, u, 100.0 * DAYS, 1.0)
        )
        found[f"rain {u:g}"] = row
    found["port pirie"] = {
        f"openturns_{years}_years": limits(extreme.buildReturnLevelProfileLikelihoodEstimator(maxima, float(years)))
        for years in (10, 100)
    }
    series = pd.Series(rain, index=pd.date_range("1914-01-01", periods=len(rain), freq="D"))
    eva = EVA(series)
    eva.get_extremes("POT", threshold=30.0, r="12h")
    eva.fit_model("MLE", distribution="genpareto", distribution_kwargs={"floc": 30.0})
    level = float(eva.get_return_value(100, return_period_size="365D")[0])
    found["pyextremes rain 30"] = {
        "parameters": {k: float(v) for k, v in eva.model.fit_parameters.items()},
        "n": len(eva.extremes),
        "100_years": level,
    }
    (HERE / "oracles.json").write_text(json.dumps(found, indent=1, default=np.float64.item) + "\n")


if __name__ == "__main__":
    main()
