-- Tokens that authorize an account's requests: for the flow of a webhook, or for the look-up of contacts.
CREATE TABLE authorizations (
  account_id    bigint NOT NULL,
  url           text NOT NULL, -- of the webhook; empty: the look-up of contacts
  settings      text NOT NULL, -- a digest of what the token was obtained with
  header        text,          -- the value of the header "authorization"
  expires_at    bigint,        -- steady time
  renew_at      bigint,        -- steady time
  refresh_token text,          -- the last one that a server gave in exchange
  problem       text,          -- why the last renewal was refused
  problem_since bigint,
  claim         text,          -- the renewal that is under way
  claimed_until bigint,        -- steady time
  PRIMARY KEY (account_id, url)
);

-- How an account looks up who calls.
CREATE TABLE contact_settings (
  account_id bigint PRIMARY KEY,
  settings   text NOT NULL -- JSON
);
