"""The notebook of the docs runs from top to bottom, and what it computed is the known answer of docs/method/known-answers.md."""

from __future__ import annotations

import ast
import asyncio
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "guides" / "riva-2018.ipynb"
ASKED = """
{
    "summary": summary,
    "crossover_ns": crossover.value_ns, "crossover_q": crossover.q,
    "worse": [worse[crossover.worse_below], worse[crossover.worse_above]],
    "ladder": [(row.q, row.a_ns, row.b_ns) for row in comparison.quantiles],
    "checks": [check.id for check in comparison.checks if check.severity not in ("pass", "unknown")],
    "exceedance": exceedance,
    "states": {f"{name} {deadline}": verdict.state for (name, deadline), verdict in verdicts.items()},
}
"""


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The notebook after all its cells, and one more that tells what they computed; run in a directory of its own."""
    place = tmp_path_factory.mktemp("notebook")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(cell.get("execution_count") is None and not cell.get("outputs") for cell in notebook.cells)
    notebook.cells.insert(len(notebook.cells) - 1, nbformat.v4.new_code_cell(ASKED))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RTASSAY_REPO", str(ROOT))
        patch.setenv("RTASSAY_HOME", str(place / "home"))
        patch.setenv("IPYTHONDIR", str(place / "ipython"))
        patch.setenv("JUPYTER_RUNTIME_DIR", str(place / "runtime"))
        client = NotebookClient(
            notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(place)}}
        )
        asyncio.run(client.async_execute())
    return notebook


@pytest.fixture(scope="module")
def computed(executed: Any) -> Any:
    (output,) = (o for o in executed.cells[-2].outputs if o.output_type == "execute_result")
    return ast.literal_eval(output.data["text/plain"])


def test_the_crossover_is_at_95_us_with_rt_worse_below(computed: Any) -> None:
    assert computed["crossover_ns"] == 95_000
    assert 1 - computed["crossover_q"] == pytest.approx(1.2e-6, rel=0.1)
    assert computed["worse"] == ["RT", "stock"]
    # awk over the two files: samples at or above 95 us, and all
    assert computed["exceedance"] == {"stock": (202, 199_999_704), "RT": (244, 199_999_440)}


def test_mean_and_sd_rank_the_kernels_the_other_way_round(computed: Any) -> None:
    stock, rt = computed["summary"]["stock"], computed["summary"]["RT"]
    assert (stock["n"], rt["n"]) == (199_999_704, 199_999_440)
    assert (round(stock["mean_us"], 1), round(rt["mean_us"], 1)) == (13.7, 22.3)
    assert (round(stock["sd_us"], 1), round(rt["sd_us"], 1)) == (1.2, 9.0)
    assert (stock["max_us"], rt["max_us"]) == (382, 136)
    assert "MEAN-SD-MISLEADS" in computed["checks"]


def test_rt_is_later_at_every_step_up_to_five_nines_and_earlier_at_seven(computed: Any) -> None:
    for q, stock_ns, rt_ns in computed["ladder"]:
        if q <= 0.99999:
            assert rt_ns > stock_ns, q
        elif q == 0.9999999:
            assert rt_ns < stock_ns


def test_no_deadline_is_said_to_hold_by_files_without_totals(computed: Any) -> None:
    # A histogram has no order: all late ones of the stock kernel may be one event. Of RT there are too many for that.
    assert computed["states"]["stock 60us"] == "NOT DEMONSTRATED"
    assert computed["states"]["RT 60us"] == "VIOLATED"
    assert "HOLDS" not in computed["states"].values()


def test_every_plot_of_the_notebook_is_a_picture(executed: Any) -> None:
    plots = [cell for cell in executed.cells if cell.cell_type == "code" and cell.source.startswith("rtassay.plot(")]
    assert len(plots) == 4
    for cell in plots:
        assert "image/png" in cell.outputs[0].data
    tables = [
        o
        for cell in executed.cells
        if cell.cell_type == "code"
        for o in cell.outputs
        if "text/html" in o.get("data", {})
    ]
    assert len(tables) >= 2, "the recordings show themselves as tables"
