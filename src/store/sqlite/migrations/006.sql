-- Of a token: the name its owner gave it (NULL: it comes from a login), the User-Agent of whoever logged in, and its last use, which is
-- written every few minutes at most.
ALTER TABLE tokens ADD COLUMN name TEXT;
ALTER TABLE tokens ADD COLUMN client TEXT;
ALTER TABLE tokens ADD COLUMN last_used_at INTEGER;
