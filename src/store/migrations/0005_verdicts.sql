-- A verdict belongs to a guarded branch (the check-run's name) and a head, never to a pull request.
UPDATE evaluation SET state = 'done', conclusion = 'cancelled'
WHERE state = 'open' AND EXISTS (
    SELECT 1 FROM evaluation AS newer
    WHERE newer.state = 'open' AND newer.repository = evaluation.repository AND newer.head = evaluation.head
      AND newer.check_name = evaluation.check_name AND newer.rowid > evaluation.rowid);

DROP INDEX evaluation_one_open;
CREATE UNIQUE INDEX evaluation_one_open ON evaluation (repository, head, check_name) WHERE state = 'open';

-- Open pull requests as they were seen last.
CREATE TABLE pull_state (
    repository TEXT NOT NULL,
    pull INTEGER NOT NULL,
    installation INTEGER NOT NULL,
    head TEXT NOT NULL,
    base_branch TEXT NOT NULL,
    -- The guarded branch by whose contract it is judged, and the name of that branch's check-run.
    guarded TEXT NOT NULL,
    check_name TEXT NOT NULL,
    -- The base tip with which what is published for that head is up to date (also when nobody asked for
    -- a check); NULL when it is not.
    base TEXT,
    seen_at INTEGER NOT NULL,
    PRIMARY KEY (repository, pull)
) STRICT, WITHOUT ROWID;

CREATE INDEX pull_state_head ON pull_state (repository, head, check_name);

-- Which job publishes for a head. Good for as long as that job runs under that fence.
CREATE TABLE head_lease (
    repository TEXT NOT NULL,
    head TEXT NOT NULL,
    check_name TEXT NOT NULL,
    job INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    PRIMARY KEY (repository, head, check_name)
) STRICT, WITHOUT ROWID;
