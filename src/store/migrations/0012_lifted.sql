-- `/frostline human`: evidence of an agent that a maintainer lifted from a pull request. Times are Unix
-- milliseconds. `repository` is the name in lower case.
CREATE TABLE lifted (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    repository TEXT NOT NULL,
    pull INTEGER NOT NULL,
    head TEXT NOT NULL,
    actor TEXT NOT NULL,
    actor_id INTEGER NOT NULL,
    reason TEXT,
    -- A JSON list: texts of evidence, and commits.
    evidence TEXT NOT NULL,
    lifted_at INTEGER NOT NULL
) STRICT;

CREATE INDEX lifted_pull ON lifted (repository, pull);
