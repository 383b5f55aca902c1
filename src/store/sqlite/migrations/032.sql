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
