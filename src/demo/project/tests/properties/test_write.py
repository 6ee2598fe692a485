from hypothesis import given
from hypothesis import strategies as st

from csvlite import parse, write

FIELD = st.text(alphabet="abc, 1", min_size=1)
ROWS = st.integers(1, 5).flatmap(
    lambda width: st.lists(st.lists(FIELD, min_size=width, max_size=width), min_size=1)
)


@given(ROWS)
def test_what_is_written_is_read_back(rows):
    assert parse(write(rows)) == rows
