-- Up to which event retention has been in an account: what reading events back begins behind it, since some before it are gone. Of a store that
-- was made before this was noted, whatever was stored before the time up to which retention has been may be gone.
ALTER TABLE accounts ADD COLUMN events_pruned_to INTEGER NOT NULL DEFAULT 0;
UPDATE accounts SET events_pruned_to = coalesce((SELECT max(id) FROM events
  WHERE account_id = accounts.id AND at <= (SELECT pruned_to FROM clock)), 0);
