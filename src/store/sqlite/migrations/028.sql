-- The numbers of calls in E.164, where PBXs spell them otherwise: each has a range of its own, in the order of the list.
ALTER TABLE calls ADD COLUMN from_e164 TEXT GENERATED ALWAYS AS (json_extract(record, '$.call.from.e164')) VIRTUAL;
ALTER TABLE calls ADD COLUMN to_e164 TEXT GENERATED ALWAYS AS (json_extract(record, '$.call.to.e164')) VIRTUAL;
CREATE INDEX calls_by_from_e164 ON calls (account_id, from_e164, direction, saved_at, id) WHERE from_e164 IS NOT NULL;
CREATE INDEX calls_by_to_e164 ON calls (account_id, to_e164, direction, saved_at, id) WHERE to_e164 IS NOT NULL;
