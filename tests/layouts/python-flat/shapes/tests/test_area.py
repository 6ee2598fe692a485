import hypothesis
from hypothesis import strategies as st

import shapes.area


@hypothesis.given(st.integers(), st.integers())
def test_area_is_symmetric(a, b):
    assert shapes.area.area(a, b) == shapes.area.area(b, a)
