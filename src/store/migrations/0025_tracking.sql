-- The one issue of a repository that says what its audit found.
CREATE TABLE tracking_issue (
    -- In lower case.
    repository TEXT PRIMARY KEY NOT NULL,
    number INTEGER NOT NULL,
    -- SHA-256 of what it says, in hex.
    body TEXT NOT NULL,
    is_open INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
