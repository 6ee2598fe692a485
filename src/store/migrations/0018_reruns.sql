-- Heads whose check-runs were asked for again at the forge, which set their suite back then: what ended before
-- does not count any more. `check_name` is empty for all of a head's. Times are Unix milliseconds.
CREATE TABLE rerun (
    repository TEXT NOT NULL,
    head TEXT NOT NULL,
    check_name TEXT NOT NULL,
    asked_at INTEGER NOT NULL,
    PRIMARY KEY (repository, head, check_name)
) STRICT, WITHOUT ROWID;
