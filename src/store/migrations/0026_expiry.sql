-- When a freeze on which the newest decision rests becomes void by date (Unix milliseconds); NULL: none does.
ALTER TABLE pull_state ADD COLUMN expires_at INTEGER;
