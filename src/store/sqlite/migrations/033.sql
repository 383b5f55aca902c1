-- People: when a user last logged in, and the SHA-256 of the code of a link with which a user chooses a password, until it expires.
ALTER TABLE users ADD COLUMN last_login_at INTEGER;
ALTER TABLE users ADD COLUMN invitation TEXT;
ALTER TABLE users ADD COLUMN invited_until INTEGER;
CREATE UNIQUE INDEX users_by_invitation ON users (invitation) WHERE invitation IS NOT NULL;
-- An account is as old as its first user that is known.
ALTER TABLE accounts ADD COLUMN created_at INTEGER;
UPDATE accounts SET created_at = coalesce((SELECT min(created_at) FROM users WHERE account_id = accounts.id), unixepoch() * 1000000);
