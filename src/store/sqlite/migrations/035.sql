-- From store 30. The versions in between were never released.

-- Past events that are sent to a webhook, one replay at a time for each. The events up to next_event_id are queued or left out.
CREATE TABLE replays (
  webhook_id    INTEGER PRIMARY KEY REFERENCES webhooks (id) ON DELETE CASCADE,
  account_id    INTEGER NOT NULL,
  since         INTEGER NOT NULL, -- times of events, the wall clock's
  until         INTEGER NOT NULL,
  kinds         TEXT NOT NULL,    -- JSON, names of events
  again         INTEGER NOT NULL, -- also events that were delivered before created_at
  next_event_id INTEGER NOT NULL,
  end_event_id  INTEGER NOT NULL,
  created_at    INTEGER NOT NULL
) STRICT;

-- Requests to make calls and to hang them up. A request moves from state to state and never back, so that a PBX is asked once at most.
CREATE TABLE call_requests (
  id TEXT PRIMARY KEY,
  account_id INTEGER NOT NULL REFERENCES accounts (id),
  pbx TEXT NOT NULL,
  -- NULL: a call is to be hung up.
  extension TEXT,
  number TEXT,
  name TEXT,
  call_id TEXT,
  state TEXT NOT NULL,
  reason TEXT,
  at INTEGER NOT NULL,
  -- The phone is in this call no longer.
  is_over INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX call_requests_by_account ON call_requests (account_id, at);
CREATE INDEX call_requests_stored ON call_requests (pbx) WHERE state = 'stored';
CREATE INDEX call_requests_by_time ON call_requests (at);
-- Whether an API token may have calls made.
ALTER TABLE tokens ADD COLUMN calls INTEGER NOT NULL DEFAULT 0;

-- People: when a user last logged in, and the SHA-256 of the code of a link with which a user chooses a password, until it expires.
ALTER TABLE users ADD COLUMN last_login_at INTEGER;
ALTER TABLE users ADD COLUMN invitation TEXT;
ALTER TABLE users ADD COLUMN invited_until INTEGER;
CREATE UNIQUE INDEX users_by_invitation ON users (invitation) WHERE invitation IS NOT NULL;
-- An account is as old as its first user that is known.
ALTER TABLE accounts ADD COLUMN created_at INTEGER;
UPDATE accounts SET created_at = coalesce((SELECT min(created_at) FROM users WHERE account_id = accounts.id), unixepoch() * 1000000);

-- The facts of saved calls by which lists of them are filtered and counted. The index has all of them in the order of the lists, so
-- that a filter reads neither records nor rows. Calls of before have no PBX, and of those who took part the caller and the called one.
ALTER TABLE calls ADD COLUMN pbx TEXT GENERATED ALWAYS AS (json_extract(record, '$.pbx')) VIRTUAL;
ALTER TABLE calls ADD COLUMN result TEXT GENERATED ALWAYS AS (json_extract(record, '$.call.result')) VIRTUAL;
ALTER TABLE calls ADD COLUMN missed INTEGER GENERATED ALWAYS AS (json_extract(record, '$.call.missed') IS TRUE) VIRTUAL;
ALTER TABLE calls ADD COLUMN who TEXT GENERATED ALWAYS AS (ifnull(json_extract(record, '$.who'),
  ' ' || ifnull(json_extract(record, '$.call.from.extension'), '') || ' ' || ifnull(json_extract(record, '$.call.to.extension'), '')
  || ' ' || ifnull(json_extract(record, '$.call.answered_by.extension'), '') || ' ' || char(10)
  || ' ' || ifnull(json_extract(record, '$.call.from.number'), '') || ' ' || ifnull(json_extract(record, '$.call.to.number'), '') || ' '
  || char(10) || ifnull(json_extract(record, '$.call.from.name'), '') || char(10) || ifnull(json_extract(record, '$.call.to.name'), ''))) VIRTUAL;
CREATE INDEX calls_by_facts ON calls (account_id, saved_at, id, direction, result, missed, pbx, who);
-- The figures of an account in each quarter of an hour, for a week; the account 0 stands for the service, which ran then.
CREATE TABLE quarters (
  quarter         INTEGER NOT NULL, -- quarters of an hour since 1970
  account_id      INTEGER NOT NULL,
  events          INTEGER NOT NULL,
  delivered       INTEGER NOT NULL,
  failed_attempts INTEGER NOT NULL,
  failed_probes   INTEGER NOT NULL,
  latencies       TEXT NOT NULL, -- JSON, as in minutes
  PRIMARY KEY (account_id, quarter)
) STRICT, WITHOUT ROWID;

-- Nothing writes beside a service any more: what operators do and ask for comes by its control socket.
DROP TABLE operator_acts;
DROP TABLE owner_requests;
