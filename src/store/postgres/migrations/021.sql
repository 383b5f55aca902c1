-- Calls are found by the end of their id: the page shows its last 8 characters. Events with a negative sequence are of no call.
CREATE INDEX events_by_call_end ON events (right(call_id, 8), account_id) WHERE sequence > 0;
