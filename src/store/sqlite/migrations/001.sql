-- Times are integer microseconds since 1970. Secrets, tokens: see the modules that own them.

CREATE TABLE accounts (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO accounts (id, name) VALUES (1, 'default'); -- what PBXs and users belong to unless told otherwise

CREATE TABLE users (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  account_id    INTEGER NOT NULL REFERENCES accounts (id),
  type          INTEGER NOT NULL,
  name          TEXT NOT NULL,
  email         TEXT NOT NULL UNIQUE,
  password_hash TEXT NOT NULL,
  created_at    INTEGER NOT NULL
) STRICT;

CREATE TABLE tokens (
  hash       TEXT PRIMARY KEY, -- SHA-256, hex; the token itself is never stored
  user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_by_user ON tokens (user_id);

-- A webhook is its account, its URL and which occurrence of that URL it is. The row stays when the URL leaves the list
-- (position NULL): its deliveries and its health belong to it, and it comes back to the same row. What waited when it left,
-- the deliveries up to cancelled_to (the newest delivery's id then), is never sent and is cancelled in small steps.
CREATE TABLE webhooks (
  id               INTEGER PRIMARY KEY,
  account_id       INTEGER NOT NULL REFERENCES accounts (id),
  url              TEXT NOT NULL,
  occurrence       INTEGER NOT NULL,
  position         INTEGER,
  call_started     INTEGER NOT NULL,
  call_ended       INTEGER NOT NULL,
  dial_started     INTEGER NOT NULL,
  dial_answered    INTEGER NOT NULL,
  dial_ended       INTEGER NOT NULL,
  call_transferred INTEGER NOT NULL,
  call_saved       INTEGER NOT NULL,
  cancelled_to     INTEGER NOT NULL DEFAULT 0,
  UNIQUE (account_id, url, occurrence)
) STRICT;

-- One signing secret for each URL of an account; kept when the URL leaves the list.
CREATE TABLE secrets (
  account_id     INTEGER NOT NULL REFERENCES accounts (id),
  url            TEXT NOT NULL,
  secret         TEXT NOT NULL,
  previous       TEXT,
  previous_until INTEGER,
  PRIMARY KEY (account_id, url)
) STRICT, WITHOUT ROWID;

-- The body is stored once, as it is sent.
CREATE TABLE events (
  id         INTEGER PRIMARY KEY, -- grows; the event's public id is `uuid`
  uuid       TEXT NOT NULL,
  account_id INTEGER NOT NULL,
  call_id    TEXT NOT NULL,
  name       TEXT NOT NULL,
  sequence   INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  body       TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_call ON events (call_id, sequence);
CREATE INDEX events_by_account ON events (account_id);

-- One event for one webhook. `id` is the event's id × 128 + its place among the event's deliveries (a list holds 100 at
-- most), so that each is found from the other without an index, and ids grow with the events' ids. These three tables
-- take every write of the hot path, so they have no foreign keys: `hookswitch verify` checks the references.
CREATE TABLE deliveries (
  id            INTEGER PRIMARY KEY,
  webhook_id    INTEGER NOT NULL,
  state         INTEGER NOT NULL,           -- 0 pending, 1 delivered, 2 failed, 3 cancelled
  tries         INTEGER NOT NULL DEFAULT 0, -- attempts that count against the present schedule
  attempts_made INTEGER NOT NULL DEFAULT 0, -- over all schedules
  due_at        INTEGER,                    -- of a retry; NULL: never tried, due at once, in the order of ids
  since         INTEGER NOT NULL,           -- when the present schedule began
  created_at    INTEGER NOT NULL,
  ended_at      INTEGER
) STRICT;
CREATE INDEX deliveries_fresh ON deliveries (webhook_id) WHERE state = 0 AND due_at IS NULL;
CREATE INDEX deliveries_retry ON deliveries (webhook_id, due_at) WHERE state = 0 AND due_at IS NOT NULL;
CREATE INDEX deliveries_lost ON deliveries (webhook_id) WHERE state > 1;

CREATE TABLE attempts (
  delivery_id INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  probe       INTEGER NOT NULL, -- 1: sent while the webhook was down, counts against nothing
  status      INTEGER,
  duration_ms INTEGER NOT NULL,
  error       TEXT,
  address     TEXT,
  response    TEXT,
  PRIMARY KEY (delivery_id, at)
) STRICT, WITHOUT ROWID;

-- A call that is up: what the tracker needs to go on after a restart.
CREATE TABLE live_calls (
  pbx   TEXT NOT NULL,
  id    TEXT NOT NULL,
  state TEXT NOT NULL,
  PRIMARY KEY (pbx, id)
) STRICT, WITHOUT ROWID;

-- A call that was saved.
CREATE TABLE calls (
  id          TEXT PRIMARY KEY,
  account_id  INTEGER NOT NULL REFERENCES accounts (id),
  saved_at    INTEGER NOT NULL,
  direction   TEXT NOT NULL,
  from_number TEXT,
  to_number   TEXT,
  record      TEXT NOT NULL -- JSON: { call, stages, recordings }
) STRICT;
CREATE INDEX calls_by_time ON calls (account_id, saved_at, id);
