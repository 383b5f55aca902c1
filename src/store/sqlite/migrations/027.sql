-- Tokens of settings that are not saved: a check obtained them, or the settings were replaced.
CREATE TABLE authorization_drafts (
  account_id    INTEGER NOT NULL,
  url           TEXT NOT NULL, -- of the webhook; empty: the look-up of contacts
  settings      TEXT NOT NULL, -- a digest of what the token was obtained with
  header        TEXT,
  expires_at    INTEGER, -- steady time
  renew_at      INTEGER, -- steady time
  refresh_token TEXT,
  kept_until    INTEGER NOT NULL, -- steady time
  PRIMARY KEY (account_id, url, settings)
) STRICT, WITHOUT ROWID;
