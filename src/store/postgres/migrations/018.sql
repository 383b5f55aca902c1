-- Tokens of settings that are not saved: a check obtained them, or the settings were replaced.
CREATE TABLE authorization_drafts (
  account_id    bigint NOT NULL,
  url           text NOT NULL, -- of the webhook; empty: the look-up of contacts
  settings      text NOT NULL, -- a digest of what the token was obtained with
  header        text,
  expires_at    bigint, -- steady time
  renew_at      bigint, -- steady time
  refresh_token text,
  kept_until    bigint NOT NULL, -- steady time
  PRIMARY KEY (account_id, url, settings)
);
