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
