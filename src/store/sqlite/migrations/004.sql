-- Every query of the list of calls is one of these ranges or a few, each in the list's own order: a page reads only the
-- rows that it shows.
CREATE INDEX calls_by_direction ON calls (account_id, direction, saved_at, id);
CREATE INDEX calls_by_from ON calls (account_id, from_number, direction, saved_at, id) WHERE from_number IS NOT NULL;
CREATE INDEX calls_by_to ON calls (account_id, to_number, direction, saved_at, id) WHERE to_number IS NOT NULL;
DROP INDEX calls_by_time;
