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
