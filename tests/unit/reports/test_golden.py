"""Text formats byte for byte. After a wanted change: update_golden.py, then read the diff."""

import pytest
import update_golden

RENDERED = update_golden.render_all()


def test_the_golden_folder_holds_exactly_the_rendered_files():
    assert {path.name for path in update_golden.GOLDEN.iterdir()} == set(RENDERED)


@pytest.mark.parametrize("file", sorted(RENDERED))
def test_golden(file):
    assert RENDERED[file].decode() == (update_golden.GOLDEN / file).read_text(encoding="utf-8")
