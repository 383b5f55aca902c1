-- From store 21. The versions in between were never released.

-- Past events that are sent to a webhook, one replay at a time for each. The events up to next_event_id are queued or left out.
CREATE TABLE replays (
  webhook_id    bigint NOT NULL PRIMARY KEY REFERENCES webhooks (id) ON DELETE CASCADE,
  account_id    bigint NOT NULL,
  since         bigint NOT NULL, -- times of events, the wall clock's
  until         bigint NOT NULL,
  kinds         text NOT NULL,   -- JSON, names of events
  again         boolean NOT NULL, -- also events that were delivered before created_at
  next_event_id bigint NOT NULL,
  end_event_id  bigint NOT NULL,
  created_at    bigint NOT NULL
);

-- Requests to make calls and to hang them up. A request moves from state to state and never back, so that a PBX is asked once at most.
CREATE TABLE call_requests (
  id TEXT PRIMARY KEY,
  account_id BIGINT NOT NULL REFERENCES accounts (id),
  pbx TEXT NOT NULL,
  -- NULL: a call is to be hung up.
  extension TEXT,
  number TEXT,
  name TEXT,
  call_id TEXT,
  state TEXT NOT NULL,
  reason TEXT,
  at BIGINT NOT NULL,
  -- The phone is in this call no longer.
  is_over BOOLEAN NOT NULL
);
CREATE INDEX call_requests_by_account ON call_requests (account_id, at);
CREATE INDEX call_requests_stored ON call_requests (pbx) WHERE state = 'stored';
CREATE INDEX call_requests_by_time ON call_requests (at);
-- Whether an API token may have calls made.
ALTER TABLE tokens ADD COLUMN calls BOOLEAN NOT NULL DEFAULT FALSE;

-- People: when a user last logged in, and the SHA-256 of the code of a link with which a user chooses a password, until it expires.
ALTER TABLE users ADD COLUMN last_login_at bigint, ADD COLUMN invitation text, ADD COLUMN invited_until bigint;
CREATE UNIQUE INDEX users_by_invitation ON users (invitation) WHERE invitation IS NOT NULL;
-- An account is as old as its first user that is known. A node of an earlier version does not write it.
ALTER TABLE accounts ADD COLUMN created_at bigint;
UPDATE accounts SET created_at = coalesce(
  (SELECT min(created_at) FROM users WHERE account_id = accounts.id), floor(extract(epoch FROM now()) * 1000000)::bigint);

-- The facts of saved calls by which lists of them are filtered and counted. A call that a node of the version before saves lacks them:
-- they are read from its record. In a store with calls all this is made before (engine/early-facts.ts): here other nodes would wait for it.
ALTER TABLE calls ADD COLUMN IF NOT EXISTS pbx text;
ALTER TABLE calls ADD COLUMN IF NOT EXISTS result text;
ALTER TABLE calls ADD COLUMN IF NOT EXISTS missed boolean;
ALTER TABLE calls ADD COLUMN IF NOT EXISTS who text;
-- The sum keeps other lists, which have better indexes, from this one: without statistics the planner would take it.
CREATE INDEX IF NOT EXISTS calls_by_facts ON calls (account_id, (saved_at + 0), id);

-- The figures of an account in each quarter of an hour, for a week; the account 0 stands for the service, which ran then.
CREATE TABLE quarters (
  quarter         bigint NOT NULL, -- quarters of an hour since 1970
  account_id      bigint NOT NULL,
  events          bigint NOT NULL,
  delivered       bigint NOT NULL,
  failed_attempts bigint NOT NULL,
  failed_probes   bigint NOT NULL,
  latencies       text NOT NULL, -- JSON, as in minutes
  node            text NOT NULL, -- each saves its own counts
  PRIMARY KEY (account_id, quarter, node)
);
