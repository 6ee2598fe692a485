from rows.report import report


def test_report():
    assert report([]) == "0 rows"
