-- The name that the owner gave a token (NULL: it comes from a login), the User-Agent of the login, and the last use,
-- which is written every few minutes at most.
ALTER TABLE tokens ADD COLUMN name TEXT;
ALTER TABLE tokens ADD COLUMN client TEXT;
ALTER TABLE tokens ADD COLUMN last_used_at INTEGER;
