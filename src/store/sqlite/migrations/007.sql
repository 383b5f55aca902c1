-- Up to where retention has been: of what was stored before it some may be gone, of what was stored later nothing. Of a store that was
-- made before this was noted nobody knows how far retention went: at most to its newest event.
ALTER TABLE clock ADD COLUMN pruned_to INTEGER NOT NULL DEFAULT 0;
UPDATE clock SET pruned_to = coalesce((SELECT max(at) FROM events), 0);
