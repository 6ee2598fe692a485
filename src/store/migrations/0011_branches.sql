-- Guarded branches as they were audited last.
CREATE TABLE branch_state (
    repository TEXT NOT NULL,
    branch TEXT NOT NULL,
    -- What tells one contract from another; NULL before the first look.
    contract TEXT,
    -- The contract that was audited last, and when (Unix milliseconds).
    audited TEXT,
    audited_at INTEGER,
    PRIMARY KEY (repository, branch)
) STRICT, WITHOUT ROWID;
