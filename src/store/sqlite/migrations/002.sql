-- Set when a webhook's URL has left the list: the id of its newest delivery at that time. After the last delivery up to
-- it was deleted, nothing refers to the row, and it is deleted as well.
ALTER TABLE webhooks ADD COLUMN left_to INTEGER NOT NULL DEFAULT 0;
UPDATE webhooks SET left_to = ifnull((SELECT max(id) FROM deliveries), 0) WHERE position IS NULL;
