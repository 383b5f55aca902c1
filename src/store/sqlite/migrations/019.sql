-- Encrypts the ids and cursors that clients get, since the plain ones count the events of all accounts. Plain ids of events up to
-- plain_to were given out by earlier versions, and stay valid.
CREATE TABLE public_ids (
  id       INTEGER PRIMARY KEY CHECK (id = 1),
  key      TEXT NOT NULL, -- 128 bits, hex
  plain_to INTEGER NOT NULL
) STRICT;
INSERT INTO public_ids (id, key, plain_to) VALUES (1, lower(hex(randomblob(16))),
  max(coalesce((SELECT max(id) FROM events), 0), coalesce((SELECT max(events_pruned_to) FROM accounts), 0)));

-- Which events were stored by one run of the database without a break: those behind began_at, up to where the next one begins. A
-- store that is restored goes on as another history, so that a cursor shows whether its event is part of the store.
CREATE TABLE event_histories (
  began_at INTEGER PRIMARY KEY,
  id       INTEGER NOT NULL, -- random
  run      TEXT NOT NULL     -- which run of the database it is
) STRICT;
