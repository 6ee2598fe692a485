-- What the forge told, by content, and what was published there. Times are Unix milliseconds.
-- `repository` is the name in lower case: forges compare names without case.

-- Listings of trees: the newest few of each repository.
CREATE TABLE tree_listing (
    repository TEXT NOT NULL,
    id TEXT NOT NULL,
    entries BLOB NOT NULL,
    used_at INTEGER NOT NULL,
    PRIMARY KEY (repository, id)
) STRICT;

CREATE INDEX tree_listing_used ON tree_listing (repository, used_at);

-- Digests of blobs. A blob's id is a hash of its bytes, so that a row is true for ever.
CREATE TABLE blob_digest (
    id TEXT NOT NULL PRIMARY KEY,
    sha256 TEXT NOT NULL,
    lf_sha256 TEXT,
    lfs_oid TEXT,
    -- The blob begins with "#!".
    shebang INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Bytes of contract files and attribute files. Never of fixtures.
CREATE TABLE blob_bytes (
    id TEXT NOT NULL PRIMARY KEY,
    bytes BLOB NOT NULL,
    used_at INTEGER NOT NULL
) STRICT;

-- Whether a repository's default branch had opted in when it was last looked at.
CREATE TABLE repository (
    name TEXT NOT NULL PRIMARY KEY,
    opted_in INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Evidence that a pull request, or a head, is an agent's. It stays (protocol 5.4).
CREATE TABLE agent_evidence (
    repository TEXT NOT NULL,
    pull INTEGER NOT NULL,
    head TEXT NOT NULL,
    evidence TEXT NOT NULL,
    seen_at INTEGER NOT NULL,
    PRIMARY KEY (repository, pull, head)
) STRICT;

CREATE INDEX agent_evidence_head ON agent_evidence (repository, head);

-- One evaluation, one check-run. The row is written before the check-run is created and its id is the
-- run's external_id, so that a later attempt finds the run of one that was broken off.
CREATE TABLE evaluation (
    id TEXT NOT NULL PRIMARY KEY,
    repository TEXT NOT NULL,
    pull INTEGER NOT NULL,
    head TEXT NOT NULL,
    check_name TEXT NOT NULL,
    -- open: the run is to be created or in progress; done: the run is completed.
    state TEXT NOT NULL CHECK (state IN ('open', 'done')),
    -- The forge's id of the run; not known until its creation was answered.
    run_id INTEGER,
    -- What the run shows, or is about to show.
    fingerprint TEXT,
    conclusion TEXT,
    decision TEXT,
    snapshot TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX evaluation_one_open ON evaluation (repository, pull, head, check_name) WHERE state = 'open';
CREATE INDEX evaluation_head ON evaluation (repository, head, check_name, created_at);
CREATE INDEX evaluation_pull ON evaluation (repository, pull, created_at);

-- The one comment of a pull request.
CREATE TABLE pull_comment (
    repository TEXT NOT NULL,
    pull INTEGER NOT NULL,
    comment_id INTEGER NOT NULL,
    node_id TEXT NOT NULL,
    -- SHA-256 of the body that was posted.
    body TEXT NOT NULL,
    minimized INTEGER NOT NULL,
    PRIMARY KEY (repository, pull)
) STRICT;
