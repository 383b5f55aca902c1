-- Operators change webhooks too: an account's, and no user's.
CREATE TABLE operator_acts_015 (
  id      INTEGER PRIMARY KEY,
  at      INTEGER NOT NULL,
  event   TEXT NOT NULL,
  email   TEXT,          -- of the user who was changed
  account TEXT,
  by      TEXT NOT NULL, -- who ran the command
  facts   TEXT           -- JSON: what the log has besides
) STRICT;
INSERT INTO operator_acts_015 (id, at, event, email, account, by) SELECT id, at, event, email, account, by FROM operator_acts;
DROP TABLE operator_acts;
ALTER TABLE operator_acts_015 RENAME TO operator_acts;
