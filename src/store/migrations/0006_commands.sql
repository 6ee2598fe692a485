-- What people asked for in comments and by buttons, and what came of it. Every row is kept. Times are Unix
-- milliseconds. `repository` is the name in lower case.

-- One comment with commands, or one press of a button.
CREATE TABLE ask (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    repository TEXT NOT NULL,
    pull INTEGER NOT NULL,
    -- 'comment:' and the comment's id, or 'button:' and the delivery's: nothing is done twice.
    source TEXT NOT NULL,
    comment_id INTEGER,
    actor TEXT NOT NULL,
    actor_id INTEGER NOT NULL,
    -- By the forge's clock.
    created_at INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    -- The pull request's head, and the base tip where it was asked for, when the commands were carried out.
    head TEXT,
    base TEXT,
    -- The answer is shown in the one comment, not in a reply. Not known before it is there.
    quiet INTEGER,
    -- A reply may have been posted: it is looked for before another one is.
    replying INTEGER NOT NULL DEFAULT 0,
    done INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE UNIQUE INDEX ask_once ON ask (repository, source);
CREATE INDEX ask_waiting ON ask (repository, pull) WHERE done = 0;
CREATE INDEX ask_recent ON ask (repository, received_at);

-- One line of it.
CREATE TABLE command (
    ask INTEGER NOT NULL REFERENCES ask (id),
    place INTEGER NOT NULL,
    line TEXT NOT NULL,
    -- What came of it; NULL until then.
    result TEXT,
    -- Markdown; empty when there is nothing to say.
    answer TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (ask, place)
) STRICT, WITHOUT ROWID;
