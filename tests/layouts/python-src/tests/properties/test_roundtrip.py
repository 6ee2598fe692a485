from hypothesis import given, strategies as st

from rows import parse, write

CELLS = st.text(alphabet="abc", min_size=1)


@given(st.lists(st.lists(CELLS, min_size=1), min_size=1))
def test_what_is_written_is_parsed_back(rows):
    assert parse(write(rows)) == rows


class TestLines:
    @given(st.text(alphabet="abc,"))
    def test_one_line_is_one_row(self, line):
        assert len(parse(line)) <= 1
