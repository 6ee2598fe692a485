import pytest

import rows.write


def test_one_row():
    assert rows.write.write([["a"]]) == "a"


@pytest.mark.property
@pytest.mark.parametrize("cell", ["a", "b"])
def test_a_cell_is_itself(cell):
    assert rows.write.write([[cell]]) == cell
