-- How many freezes each pull request voids, by its newest decision (protocol 7).
CREATE TABLE patch (
    -- In lower case.
    repository TEXT NOT NULL,
    pull INTEGER NOT NULL,
    voided INTEGER NOT NULL,
    -- Unix milliseconds.
    judged_at INTEGER NOT NULL,
    PRIMARY KEY (repository, pull)
) STRICT, WITHOUT ROWID;
CREATE INDEX patch_judged ON patch (judged_at);

-- Rows that are not closed, by state, and seeds: one sample for each day on which a branch was audited.
CREATE TABLE ledger_size (
    repository TEXT NOT NULL,
    branch TEXT NOT NULL,
    -- Days since 1970-01-01, UTC.
    day INTEGER NOT NULL,
    open INTEGER NOT NULL,
    void INTEGER NOT NULL,
    invalid INTEGER NOT NULL,
    expired INTEGER NOT NULL,
    unbound INTEGER NOT NULL,
    -- NULL where there is no seed corpus.
    corpus INTEGER,
    PRIMARY KEY (repository, branch, day)
) STRICT, WITHOUT ROWID;

-- Rows that are void, by digest or by date, as the newest audit of the branch found them.
CREATE TABLE void_row (
    repository TEXT NOT NULL,
    branch TEXT NOT NULL,
    source TEXT NOT NULL,
    nodeid TEXT NOT NULL,
    -- Its place among the rows of that node in that file.
    nth INTEGER NOT NULL,
    -- Unix milliseconds: the date that the row itself gives, or when an audit found it so first.
    since INTEGER NOT NULL,
    PRIMARY KEY (repository, branch, source, nodeid, nth)
) STRICT, WITHOUT ROWID;
