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
