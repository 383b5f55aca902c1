-- Past events that are sent to a webhook, one replay at a time for each. The events up to next_event_id are queued or left out.
CREATE TABLE replays (
  webhook_id    bigint NOT NULL PRIMARY KEY REFERENCES webhooks (id) ON DELETE CASCADE,
  account_id    bigint NOT NULL,
  since         bigint NOT NULL, -- times of events, the wall clock's
  until         bigint NOT NULL,
  kinds         text NOT NULL,   -- JSON, names of events
  again         boolean NOT NULL, -- also events that were delivered before created_at
  next_event_id bigint NOT NULL,
  end_event_id  bigint NOT NULL,
  created_at    bigint NOT NULL
);
