-- People: when a user last logged in, and the SHA-256 of the code of a link with which a user chooses a password, until it expires.
ALTER TABLE users ADD COLUMN last_login_at bigint, ADD COLUMN invitation text, ADD COLUMN invited_until bigint;
CREATE UNIQUE INDEX users_by_invitation ON users (invitation) WHERE invitation IS NOT NULL;
-- An account is as old as its first user that is known. A node of an earlier version does not write it.
ALTER TABLE accounts ADD COLUMN created_at bigint;
UPDATE accounts SET created_at = coalesce(
  (SELECT min(created_at) FROM users WHERE account_id = accounts.id), floor(extract(epoch FROM now()) * 1000000)::bigint);
