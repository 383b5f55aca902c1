-- The numbers of calls in E.164, where PBXs spell them otherwise: each has a range of its own, in the order of the list. A call
-- that a node of the version before saves lacks them: it is found as its PBX spells it.
ALTER TABLE calls ADD COLUMN from_e164 text;
ALTER TABLE calls ADD COLUMN to_e164 text;

-- Postgres cannot read every JSON text that the program writes: a name may have an escaped NUL.
CREATE FUNCTION pg_temp.e164_of(record text, party text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN record::json #>> ARRAY['call', party, 'e164'];
EXCEPTION WHEN data_exception THEN
  RETURN NULL;
END
$$;
UPDATE calls SET from_e164 = pg_temp.e164_of(record, 'from'), to_e164 = pg_temp.e164_of(record, 'to')
  WHERE strpos(record, '"e164":"') > 0;

CREATE INDEX calls_by_from_e164 ON calls (account_id, from_e164, direction, saved_at, id) WHERE from_e164 IS NOT NULL;
CREATE INDEX calls_by_to_e164 ON calls (account_id, to_e164, direction, saved_at, id) WHERE to_e164 IS NOT NULL;
