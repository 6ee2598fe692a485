-- Deliveries that were acknowledged, and the jobs they asked for. Times are Unix milliseconds.

-- One row for each delivery id that was stored. Only the fields that are used are kept: the job
-- reads the pull request from the forge, so the payload (which holds people's data) is not needed.
CREATE TABLE delivery (
    id TEXT NOT NULL PRIMARY KEY,
    event TEXT NOT NULL,
    action TEXT NOT NULL,
    installation INTEGER NOT NULL,
    repository TEXT NOT NULL,
    pull_request INTEGER NOT NULL,
    head TEXT,
    received_at INTEGER NOT NULL,
    -- How often the forge sent it: 1, and one more for each redelivery.
    times INTEGER NOT NULL DEFAULT 1
) STRICT, WITHOUT ROWID;

CREATE INDEX delivery_received ON delivery (received_at);

CREATE TABLE job (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    -- What must not run twice at once; for kind 'pull' the repository in lower case, '#', the number.
    key TEXT NOT NULL,
    payload TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'dead')),
    -- Counted when the job is claimed, so that a job that kills the process is counted too.
    attempts INTEGER NOT NULL DEFAULT 0,
    max_attempts INTEGER NOT NULL,
    run_at INTEGER NOT NULL,
    -- A floor under run_at that a new event does not lift (the forge said when to come back).
    not_before INTEGER NOT NULL DEFAULT 0,
    lease_until INTEGER,
    fence INTEGER NOT NULL DEFAULT 0,
    err TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

-- A burst of events is one job; while it runs, at most one more waits behind it.
CREATE UNIQUE INDEX job_one_queued ON job (kind, key) WHERE state = 'queued';
CREATE UNIQUE INDEX job_one_running ON job (kind, key) WHERE state = 'running';
CREATE INDEX job_due ON job (run_at, id) WHERE state = 'queued';
CREATE INDEX job_lease ON job (lease_until) WHERE state = 'running';
CREATE INDEX job_done ON job (updated_at) WHERE state = 'done';

-- The last fence given out. A later claim always has the greater fence, whatever job it is of.
CREATE TABLE fence (
    only INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
    value INTEGER NOT NULL
) STRICT;

INSERT INTO fence (only, value) VALUES (1, 0);
