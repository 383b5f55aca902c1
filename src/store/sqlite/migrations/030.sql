-- From version 0.2.0 (store 20). The versions in between were never released.

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

-- Flows: which step of a delivery an attempt was, and the names of the values that it kept (JSON).
ALTER TABLE attempts ADD COLUMN step TEXT;
ALTER TABLE attempts ADD COLUMN method TEXT;
ALTER TABLE attempts ADD COLUMN url TEXT; -- without query
ALTER TABLE attempts ADD COLUMN kept TEXT;

-- How far the steps of a delivery are, until it is delivered.
CREATE TABLE flow_progress (
  delivery_id INTEGER PRIMARY KEY,
  steps       TEXT NOT NULL -- JSON
) STRICT;

-- The values that a webhook's flow has kept for a call.
CREATE TABLE kept_values (
  call_id    TEXT NOT NULL,
  webhook_id INTEGER NOT NULL,
  at         INTEGER NOT NULL, -- when the last one was kept
  kept       TEXT NOT NULL,    -- JSON
  PRIMARY KEY (call_id, webhook_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX kept_values_by_time ON kept_values (at);

-- The present state of a phone, trunk, agent or queue of a PBX, and its last emitted one (JSON).
CREATE TABLE subject_states (
  pbx   TEXT NOT NULL,
  id    TEXT NOT NULL,
  state TEXT NOT NULL,
  PRIMARY KEY (pbx, id)
) STRICT, WITHOUT ROWID;

-- Events that are kept for a day only.
CREATE INDEX events_short_lived ON events (id) WHERE sequence < 0;

-- The first attempt of a delivery, if it delivered it: a row of attempts for nearly every delivery would double the writes.
ALTER TABLE deliveries ADD COLUMN first_at INTEGER; -- NULL: all attempts are in the table attempts
ALTER TABLE deliveries ADD COLUMN first_status INTEGER;
ALTER TABLE deliveries ADD COLUMN first_duration_ms INTEGER;
ALTER TABLE deliveries ADD COLUMN first_address TEXT;
ALTER TABLE deliveries ADD COLUMN first_response TEXT;

CREATE VIEW all_attempts AS
  SELECT delivery_id, at, probe, status, duration_ms, error, address, response, step, method, url, kept FROM attempts
  UNION ALL
  SELECT id, first_at, 0, first_status, first_duration_ms, NULL, first_address, first_response, NULL, NULL, NULL, NULL
  FROM deliveries WHERE first_at IS NOT NULL;

-- How often cached contacts had to be forgotten, since a number was erased: services forget theirs when it changes.
CREATE TABLE contact_erasures (
  id    INTEGER PRIMARY KEY CHECK (id = 1),
  count INTEGER NOT NULL
) STRICT;
INSERT INTO contact_erasures (id, count) VALUES (1, 0);

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

-- The numbers of calls in E.164, where PBXs spell them otherwise: each has a range of its own, in the order of the list.
ALTER TABLE calls ADD COLUMN from_e164 TEXT GENERATED ALWAYS AS (json_extract(record, '$.call.from.e164')) VIRTUAL;
ALTER TABLE calls ADD COLUMN to_e164 TEXT GENERATED ALWAYS AS (json_extract(record, '$.call.to.e164')) VIRTUAL;
CREATE INDEX calls_by_from_e164 ON calls (account_id, from_e164, direction, saved_at, id) WHERE from_e164 IS NOT NULL;
CREATE INDEX calls_by_to_e164 ON calls (account_id, to_e164, direction, saved_at, id) WHERE to_e164 IS NOT NULL;

-- Calls are found by the end of their id: the page shows its last 8 characters. Events with a negative sequence are of no call.
CREATE INDEX events_by_call_end ON events (substr(call_id, -8), account_id) WHERE sequence > 0;

-- Grows with each change of the account's webhook list and its options: a service reads only the lists that a command has changed.
ALTER TABLE accounts ADD COLUMN list_version INTEGER NOT NULL DEFAULT 0;
