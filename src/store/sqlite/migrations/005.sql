-- When a secret's URL left the list; NULL while it is in it. Of those that left, a year's and the newest 1,000 of an account are kept.
ALTER TABLE secrets ADD COLUMN left_at INTEGER;
UPDATE secrets SET left_at = unixepoch() * 1000000 WHERE NOT EXISTS
  (SELECT 1 FROM webhooks w WHERE w.account_id = secrets.account_id AND w.url = secrets.url AND w.position IS NOT NULL);
