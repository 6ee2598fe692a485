-- What pages need: whether anybody may read a repository, and the key of the links' capabilities.
ALTER TABLE repository ADD COLUMN is_public INTEGER NOT NULL DEFAULT 0;

CREATE TABLE page_key (
    only INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
    key BLOB NOT NULL
) STRICT;
