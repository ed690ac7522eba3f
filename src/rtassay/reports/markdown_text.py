"""Building blocks of GitHub-flavoured Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rtassay.model.foreign import markdown, printable


def pipe_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False) -> str:
    """A table in pipes; `numbers`: all but the first column to the right. Cells are escaped by the caller."""
    rule = ["---", *(("---:" if numbers else "---") for _ in columns[1:])]
    lines = ["| " + " | ".join(columns) + " |", "| " + " | ".join(rule) + " |"]
    lines += ["| " + " | ".join(cell or " " for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def text_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False) -> str:
    """`pipe_table` of cells that are foreign text."""
    return pipe_table(columns, [[markdown(cell) for cell in row] for row in rows], numbers=numbers)


def code_block(text: str) -> str:
    """A fenced block whose fence is longer than every run of backticks in the text."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def folded(summary: str, content: str) -> str:
    """Content that the reader opens with a click."""
    return f"<details><summary>{summary}</summary>\n\n{content}\n\n</details>"


def document(parts: Iterable[str]) -> bytes:
    """Parts that are not empty, one empty line between them, as UTF-8 without control characters."""
    return (printable("\n\n".join(part for part in parts if part)) + "\n").encode()
