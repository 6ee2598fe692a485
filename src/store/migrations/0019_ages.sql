-- When digests were asked for last, and pushes told of, so that what nobody needs can be deleted.
ALTER TABLE blob_digest ADD COLUMN used_at INTEGER NOT NULL DEFAULT 0;
UPDATE blob_digest SET used_at = unixepoch() * 1000;
CREATE INDEX blob_digest_used ON blob_digest (used_at);

ALTER TABLE pusher ADD COLUMN seen_at INTEGER NOT NULL DEFAULT 0;
UPDATE pusher SET seen_at = unixepoch() * 1000;
