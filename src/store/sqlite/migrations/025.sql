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
