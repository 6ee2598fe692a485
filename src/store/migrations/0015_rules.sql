-- What the rules of a guarded branch said of our check, and when that was read.
CREATE TABLE branch_rule (
    -- In lower case.
    repository TEXT NOT NULL,
    branch TEXT NOT NULL,
    -- JSON.
    says TEXT NOT NULL,
    -- Unix milliseconds.
    read_at INTEGER NOT NULL,
    PRIMARY KEY (repository, branch)
) STRICT, WITHOUT ROWID;
