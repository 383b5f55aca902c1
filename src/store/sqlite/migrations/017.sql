-- What only the process that sends to a webhook can do, which another one asked it for; it deletes the rows.
CREATE TABLE owner_requests (
  id          INTEGER PRIMARY KEY,
  at          INTEGER NOT NULL,
  webhook_id  INTEGER NOT NULL,
  delivery_id INTEGER           -- to be sent next, also while the webhook is down; NULL: its receiver has answered a test
);
