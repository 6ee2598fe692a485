-- What approvals rest on. Times are Unix milliseconds. `repository` is the name in lower case.

-- What a check-run came to show when it ended. Kept: an approval counts by what was shown when it was given.
CREATE TABLE shown (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    repository TEXT NOT NULL,
    pull INTEGER NOT NULL,
    head TEXT NOT NULL,
    check_name TEXT NOT NULL,
    -- NULL where nothing could be decided.
    base TEXT,
    -- NULL where no person has to approve.
    decision_key TEXT,
    -- By the forge's clock.
    published_at INTEGER NOT NULL
) STRICT;

CREATE INDEX shown_head ON shown (repository, head, check_name);
CREATE INDEX shown_pull ON shown (repository, pull, check_name);

-- `/frostline accept`.
CREATE TABLE acceptance (
    repository TEXT NOT NULL,
    decision_key TEXT NOT NULL,
    pull INTEGER NOT NULL,
    head TEXT NOT NULL,
    actor TEXT NOT NULL,
    actor_id INTEGER NOT NULL,
    reason TEXT,
    accepted_at INTEGER NOT NULL,
    PRIMARY KEY (repository, decision_key, pull, actor_id)
) STRICT, WITHOUT ROWID;

-- Who pushed to a pull request, as far as events told.
CREATE TABLE pusher (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    repository TEXT NOT NULL,
    pull INTEGER NOT NULL,
    head TEXT NOT NULL,
    account INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX pusher_once ON pusher (repository, pull, head, account);
