-- The facts of saved calls by which lists of them are filtered and counted. A call that a node of the version before saves lacks them:
-- they are read from its record. In a store with calls all this is made before (engine/early-facts.ts): here other nodes would wait for it.
ALTER TABLE calls ADD COLUMN IF NOT EXISTS pbx text;
ALTER TABLE calls ADD COLUMN IF NOT EXISTS result text;
ALTER TABLE calls ADD COLUMN IF NOT EXISTS missed boolean;
ALTER TABLE calls ADD COLUMN IF NOT EXISTS who text;
-- The sum keeps other lists, which have better indexes, from this one: without statistics the planner would take it.
CREATE INDEX IF NOT EXISTS calls_by_facts ON calls (account_id, (saved_at + 0), id);

-- The figures of an account in each quarter of an hour, for a week; the account 0 stands for the service, which ran then.
CREATE TABLE quarters (
  quarter         bigint NOT NULL, -- quarters of an hour since 1970
  account_id      bigint NOT NULL,
  events          bigint NOT NULL,
  delivered       bigint NOT NULL,
  failed_attempts bigint NOT NULL,
  failed_probes   bigint NOT NULL,
  latencies       text NOT NULL, -- JSON, as in minutes
  node            text NOT NULL, -- each saves its own counts
  PRIMARY KEY (account_id, quarter, node)
);
