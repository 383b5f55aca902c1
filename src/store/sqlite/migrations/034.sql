-- The facts of saved calls by which lists of them are filtered and counted. The index has all of them in the order of the lists, so
-- that a filter reads neither records nor rows. Calls of before have no PBX, and of those who took part the caller and the called one.
ALTER TABLE calls ADD COLUMN pbx TEXT GENERATED ALWAYS AS (json_extract(record, '$.pbx')) VIRTUAL;
ALTER TABLE calls ADD COLUMN result TEXT GENERATED ALWAYS AS (json_extract(record, '$.call.result')) VIRTUAL;
ALTER TABLE calls ADD COLUMN missed INTEGER GENERATED ALWAYS AS (json_extract(record, '$.call.missed') IS TRUE) VIRTUAL;
ALTER TABLE calls ADD COLUMN who TEXT GENERATED ALWAYS AS (ifnull(json_extract(record, '$.who'),
  ' ' || ifnull(json_extract(record, '$.call.from.extension'), '') || ' ' || ifnull(json_extract(record, '$.call.to.extension'), '')
  || ' ' || ifnull(json_extract(record, '$.call.answered_by.extension'), '') || ' ' || char(10)
  || ' ' || ifnull(json_extract(record, '$.call.from.number'), '') || ' ' || ifnull(json_extract(record, '$.call.to.number'), '') || ' '
  || char(10) || ifnull(json_extract(record, '$.call.from.name'), '') || char(10) || ifnull(json_extract(record, '$.call.to.name'), ''))) VIRTUAL;
CREATE INDEX calls_by_facts ON calls (account_id, saved_at, id, direction, result, missed, pbx, who);
-- The figures of an account in each quarter of an hour, for a week; the account 0 stands for the service, which ran then.
CREATE TABLE quarters (
  quarter         INTEGER NOT NULL, -- quarters of an hour since 1970
  account_id      INTEGER NOT NULL,
  events          INTEGER NOT NULL,
  delivered       INTEGER NOT NULL,
  failed_attempts INTEGER NOT NULL,
  failed_probes   INTEGER NOT NULL,
  latencies       TEXT NOT NULL, -- JSON, as in minutes
  PRIMARY KEY (account_id, quarter)
) STRICT, WITHOUT ROWID;
