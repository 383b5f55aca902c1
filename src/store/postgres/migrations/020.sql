-- The numbers of calls in E.164, where PBXs spell them otherwise: each has a range of its own, in the order of the list. A call
-- that a node of the version before saves lacks them: it is found as its PBX spells it.
-- In a store with calls all this is made before (engine/early-e164.ts): here other nodes would wait for it.
ALTER TABLE calls ADD COLUMN IF NOT EXISTS from_e164 text;
ALTER TABLE calls ADD COLUMN IF NOT EXISTS to_e164 text;
CREATE INDEX IF NOT EXISTS calls_by_from_e164 ON calls (account_id, from_e164, direction, saved_at, id)
  WHERE from_e164 IS NOT NULL;
CREATE INDEX IF NOT EXISTS calls_by_to_e164 ON calls (account_id, to_e164, direction, saved_at, id)
  WHERE to_e164 IS NOT NULL;
