-- From version 0.2.0 (store 11). The versions in between were never released.

-- The settings of a node that commands on other machines need (JSON, no secret); none from a node of an earlier version.
ALTER TABLE nodes ADD COLUMN settings text;

-- The audit trail: who changed what in webhooks, options, PBXs, users and settings.
CREATE TABLE audit (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at      bigint NOT NULL,
  action  text NOT NULL,
  account text,
  email   text, -- the user who made the change over the API
  by      text, -- the system user who ran a command
  address text,
  subject text, -- the e-mail address of the user who was changed
  facts   text  -- JSON
);

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

-- Flows: which step of a delivery an attempt was, and the names of the values that it kept (JSON).
ALTER TABLE attempts ADD COLUMN step text;
ALTER TABLE attempts ADD COLUMN method text;
ALTER TABLE attempts ADD COLUMN url text; -- without query
ALTER TABLE attempts ADD COLUMN kept text;

-- How far the steps of a delivery are, until it is delivered.
CREATE TABLE flow_progress (
  delivery_id bigint PRIMARY KEY,
  steps       text NOT NULL -- JSON
);

-- The values that a webhook's flow has kept for a call.
CREATE TABLE kept_values (
  call_id    text NOT NULL,
  webhook_id bigint NOT NULL,
  at         bigint NOT NULL, -- when the last one was kept
  kept       text NOT NULL,   -- JSON
  PRIMARY KEY (call_id, webhook_id)
);
CREATE INDEX kept_values_by_time ON kept_values (at);

-- The present state of a phone, trunk, agent or queue of a PBX, and its last emitted one (JSON).
CREATE TABLE subject_states (
  pbx   text NOT NULL,
  id    text COLLATE "C" NOT NULL,
  state text NOT NULL,
  PRIMARY KEY (pbx, id)
);

-- Events that are kept for a day only.
CREATE INDEX events_short_lived ON events (id) WHERE sequence < 0;

-- Counts erased numbers: a service drops its cached contacts when it changes.
CREATE TABLE contact_erasures (
  id    bigint PRIMARY KEY CHECK (id = 1),
  count bigint NOT NULL
);
INSERT INTO contact_erasures (id, count) VALUES (1, 0);

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

-- The first attempt of a delivery, if it delivered it: a row of attempts for nearly every delivery would double the writes.
-- A node of the version before shows such a delivery without its attempt, until it is upgraded.
ALTER TABLE ended_deliveries ADD COLUMN first_at bigint; -- NULL: all attempts are in the table attempts
ALTER TABLE ended_deliveries ADD COLUMN first_status int;
ALTER TABLE ended_deliveries ADD COLUMN first_duration_ms int;
ALTER TABLE ended_deliveries ADD COLUMN first_address text;
ALTER TABLE ended_deliveries ADD COLUMN first_response text;

CREATE VIEW all_attempts AS
  SELECT delivery_id, at, probe, status, duration_ms, error, address, response, step, method, url, kept FROM attempts
  UNION ALL
  SELECT id, first_at, FALSE, first_status, first_duration_ms, NULL, first_address, first_response, NULL, NULL, NULL, NULL
  FROM ended_deliveries WHERE first_at IS NOT NULL;

-- A live call is written again with each event: with room in its page, Postgres logs only what changed, and no index entry.
ALTER TABLE live_calls SET (fillfactor = 50);

-- The numbers of calls in E.164, where PBXs spell them otherwise: each has a range of its own, in the order of the list. A call
-- that a node of the version before saves lacks them: it is found as its PBX spells it.
-- In a store with calls all this is made before (engine/early-e164.ts): here other nodes would wait for it.
ALTER TABLE calls ADD COLUMN IF NOT EXISTS from_e164 text;
ALTER TABLE calls ADD COLUMN IF NOT EXISTS to_e164 text;
CREATE INDEX IF NOT EXISTS calls_by_from_e164 ON calls (account_id, from_e164, direction, saved_at, id)
  WHERE from_e164 IS NOT NULL;
CREATE INDEX IF NOT EXISTS calls_by_to_e164 ON calls (account_id, to_e164, direction, saved_at, id)
  WHERE to_e164 IS NOT NULL;

-- Calls are found by the end of their id: the page shows its last 8 characters. Events with a negative sequence are of no call.
CREATE INDEX events_by_call_end ON events (right(call_id, 8), account_id) WHERE sequence > 0;
