"""Text formats byte for byte. After a wanted change: update_golden.py, then read the diff."""

import pytest
import update_golden

FILES = update_golden.files()


def test_the_golden_folder_holds_exactly_the_rendered_files():
    assert {path.name for path in update_golden.GOLDEN.iterdir()} == set(FILES)


@pytest.mark.parametrize("file", sorted(FILES))
def test_golden(file):
    assert update_golden.render(*FILES[file]).decode() == (update_golden.GOLDEN / file).read_text(encoding="utf-8")
