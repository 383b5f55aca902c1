-- What waits is reckoned on a clock that never steps: `since` and `due_at` of deliveries are the wall clock's time less `stepped`,
-- which is all that the wall clock was set forward (or back: negative) while the service ran. So nothing has to be moved when it is.
CREATE TABLE clock (
  id         INTEGER PRIMARY KEY CHECK (id = 1),
  stepped    INTEGER NOT NULL,
  prune_from INTEGER NOT NULL -- on the same clock: nothing is taken out for its age before
) STRICT;
INSERT INTO clock (id, stepped, prune_from) VALUES (1, 0, 0);
