-- Past events that are sent to a webhook, one replay at a time for each. The events up to next_event_id are queued or left out.
CREATE TABLE replays (
  webhook_id    INTEGER PRIMARY KEY REFERENCES webhooks (id) ON DELETE CASCADE,
  account_id    INTEGER NOT NULL,
  since         INTEGER NOT NULL, -- times of events, the wall clock's
  until         INTEGER NOT NULL,
  kinds         TEXT NOT NULL,    -- JSON, names of events
  again         INTEGER NOT NULL, -- also events that were delivered before created_at
  next_event_id INTEGER NOT NULL,
  end_event_id  INTEGER NOT NULL,
  created_at    INTEGER NOT NULL
) STRICT;
