"""Tables as text: whatever the width, no number and no name is cut or broken, and no word is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rtassay.reports.text_table import GAP, figures, lines, name, number, words

COLUMNS = (name("id"), words("board"), words("kernel"), number("max us"), figures("as printed"), words("source"))
TEXT = st.text("abc d-", max_size=60)
ROWS = st.lists(
    st.tuples(
        st.from_regex(r"[A-Z][0-9]{1,24}", fullmatch=True),
        TEXT,
        TEXT,
        st.integers(0, 10**12).map(str),
        st.tuples(st.integers(0, 10**9), TEXT).map(lambda both: f"{both[0]} ({both[1]})"),
        TEXT,
    ),
    min_size=1,
    max_size=4,
)


@given(ROWS, st.integers(20, 200) | st.none())
def test_a_table_keeps_every_number_name_and_word(rows: list[tuple[str, ...]], width: int | None) -> None:
    told = lines(COLUMNS, rows, width)
    for row in rows:
        assert any(row[0] in line.split() and row[3] in line.split() for line in told)
        assert any(row[4].split()[0] in line.split() for line in told)
    if width is None:
        assert [line.split() for line in told[1:]] == [" ".join(row).split() for row in rows]


def test_without_a_width_each_row_is_one_line_and_columns_are_aligned() -> None:
    told = lines((name("id"), words("text"), number("us")), [("a", "one two", "36802"), ("bb", "x", "9")])
    assert told == ["id  text        us", "a   one two  36802", "bb  x            9"]


def test_columns_of_words_wrap_first_and_the_rest_runs_over() -> None:
    row = ("20261122T193309-40319b", "Raspberry Pi 5 Model B", "36802.5")
    columns = (name("id"), words("board"), number("max us"))
    for width in (44, 48, 52):
        told = lines(columns, [row], width)
        assert max(map(len, told)) <= width and len(told) > 2
        assert told[1].startswith(row[0]) and told[1].endswith(row[2])
        assert " ".join(line[len(row[0]) + len(GAP) :].replace(row[2], "").strip() for line in told[1:]) == row[1]
    assert lines(columns, [row], 10)[1].endswith(GAP + row[2])


def test_a_cell_is_one_line_whatever_it_holds() -> None:
    assert lines((words("note"),), [("a\nb\tc",)]) == ["note", "a b c"]
