-- The pull requests of a merge group, so that it is judged again when one of them is.
CREATE TABLE merge_group_member (
    repository TEXT NOT NULL,
    head TEXT NOT NULL,
    pull INTEGER NOT NULL,
    PRIMARY KEY (repository, pull, head)
) STRICT, WITHOUT ROWID;
