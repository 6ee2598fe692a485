import pytest
from hypothesis import given
from hypothesis import strategies as st

from csvlite import ParseError, parse

FIELD = st.text(alphabet="abc 1", min_size=1)


@given(st.lists(FIELD, min_size=2, max_size=5), st.lists(FIELD, min_size=6, max_size=9))
def test_ragged_rows_are_refused(first, second):
    with pytest.raises(ParseError):
        parse(",".join(first) + "\n" + ",".join(second) + "\n")
