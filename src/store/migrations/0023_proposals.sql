-- Commits that this App made at people's commands, one row for each commit and person. A pull request of the
-- App's whose head is one of them counts as theirs; with any other head it is an agent's.
CREATE TABLE proposal (
    -- In lower case.
    repository TEXT NOT NULL,
    head TEXT NOT NULL,
    -- The branch of the App's that it is on.
    branch TEXT NOT NULL,
    account INTEGER NOT NULL,
    login TEXT NOT NULL,
    -- As it was written.
    command TEXT NOT NULL,
    made_at INTEGER NOT NULL,
    PRIMARY KEY (repository, head, account)
) STRICT, WITHOUT ROWID;
