-- What a repository is called, by the forge's own id for it: a name may change, and be given to another one.
CREATE TABLE repository_name (
    id INTEGER NOT NULL PRIMARY KEY,
    -- In lower case, and what tables are keyed by. '#' and the id for one whose name another one has now, until
    -- its own new name is known.
    name TEXT NOT NULL UNIQUE
) STRICT;
