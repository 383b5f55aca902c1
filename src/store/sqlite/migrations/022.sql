-- Tokens with which an account's requests are authorized: of the flow of a webhook, or of the look-up of contacts.
CREATE TABLE authorizations (
  account_id    INTEGER NOT NULL,
  url           TEXT NOT NULL, -- of the webhook; empty: the look-up of contacts
  settings      TEXT NOT NULL, -- a digest of what the token was obtained with
  header        TEXT,          -- the value of the header "authorization"
  expires_at    INTEGER,       -- steady time
  renew_at      INTEGER,       -- steady time
  refresh_token TEXT,          -- the last one that a server gave in exchange
  problem       TEXT,          -- why the last renewal was refused
  problem_since INTEGER,
  claim         TEXT,          -- the renewal that is under way
  claimed_until INTEGER,       -- steady time
  PRIMARY KEY (account_id, url)
) STRICT, WITHOUT ROWID;

-- How an account looks up who calls.
CREATE TABLE contact_settings (
  account_id INTEGER PRIMARY KEY,
  settings   TEXT NOT NULL -- JSON
) STRICT;
