-- The progress of retention: some records from before this time may be gone, later ones are all kept. Older stores did
-- not note it; there retention has reached the newest event at most.
ALTER TABLE clock ADD COLUMN pruned_to INTEGER NOT NULL DEFAULT 0;
UPDATE clock SET pruned_to = coalesce((SELECT max(at) FROM events), 0);
