-- What the source of a blob says. The key is a hash of its bytes with the way in which they were read, so
-- that a row is true for ever; rows of an older version of the reader are never asked for.
CREATE TABLE source_facts (
    id TEXT NOT NULL,
    language TEXT NOT NULL,
    version INTEGER NOT NULL,
    facts TEXT NOT NULL,
    PRIMARY KEY (id, language, version)
) STRICT, WITHOUT ROWID;
