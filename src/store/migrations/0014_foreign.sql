-- Check-runs of other Apps under our name, as events told of them; of one App's runs the newest.
CREATE TABLE foreign_run (
    -- In lower case.
    repository TEXT NOT NULL,
    head TEXT NOT NULL,
    check_name TEXT NOT NULL,
    -- 0 where the forge did not say.
    app INTEGER NOT NULL,
    run INTEGER NOT NULL,
    -- Unix milliseconds.
    seen_at INTEGER NOT NULL,
    PRIMARY KEY (repository, head, check_name, app)
) STRICT, WITHOUT ROWID;
