-- Of a webhook whose URL has left the list: the newest delivery's id then. When the last delivery up to it was taken out, nothing refers
-- to the row any more, and it goes as well.
ALTER TABLE webhooks ADD COLUMN left_to INTEGER NOT NULL DEFAULT 0;
UPDATE webhooks SET left_to = ifnull((SELECT max(id) FROM deliveries), 0) WHERE position IS NULL;
