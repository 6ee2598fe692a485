-- When a row was asked for last, so that what nobody asks for can be deleted. Times are Unix milliseconds.
ALTER TABLE source_facts ADD COLUMN used_at INTEGER NOT NULL DEFAULT 0;

CREATE INDEX source_facts_used ON source_facts (used_at);
CREATE INDEX blob_bytes_used ON blob_bytes (used_at);
CREATE INDEX evaluation_updated ON evaluation (updated_at) WHERE state = 'done';
