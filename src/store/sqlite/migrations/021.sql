-- The audit trail: who changed what in webhooks, options, PBXs, users and settings.
CREATE TABLE audit (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  at      INTEGER NOT NULL,
  action  TEXT NOT NULL,
  account TEXT,
  email   TEXT, -- the user who made the change over the API
  by      TEXT, -- the system user who ran a command
  address TEXT,
  subject TEXT, -- the e-mail address of the user who was changed
  facts   TEXT  -- JSON
) STRICT;
