-- How far the wall clock of a node is ahead of the database's, at its last heartbeat: events of a node whose clock is wrong have corrected times.
ALTER TABLE nodes ADD COLUMN clock_ahead_us bigint;

-- Counts the changes of leases: a heartbeat that finds the count that it knows need not read them again.
CREATE TABLE lease_changes (
  id      int PRIMARY KEY CHECK (id = 1),
  version bigint NOT NULL
);
INSERT INTO lease_changes (id, version) VALUES (1, 1);
