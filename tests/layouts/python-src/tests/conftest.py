import pytest


@pytest.fixture
def sample():
    return "a,b"
