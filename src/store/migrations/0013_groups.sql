-- Merge groups that a check was asked for, so that one can be asked for again.
CREATE TABLE merge_group (
    repository TEXT NOT NULL,
    head TEXT NOT NULL,
    base TEXT NOT NULL,
    branch TEXT NOT NULL,
    default_branch TEXT NOT NULL,
    queue_branch TEXT NOT NULL,
    -- Unix milliseconds.
    seen_at INTEGER NOT NULL,
    PRIMARY KEY (repository, head)
) STRICT, WITHOUT ROWID;
