-- The figures of the last hour, which the page shows: by minute (since 1970), for each webhook; webhook_id 0 is the account as a whole.
-- `latencies` is JSON: pairs of a bucket and its count.
CREATE TABLE minutes (
  minute          INTEGER NOT NULL,
  account_id      INTEGER NOT NULL,
  webhook_id      INTEGER NOT NULL,
  events          INTEGER NOT NULL,
  delivered       INTEGER NOT NULL,
  failed_attempts INTEGER NOT NULL,
  failed_probes   INTEGER NOT NULL,
  latencies       TEXT NOT NULL,
  PRIMARY KEY (minute, account_id, webhook_id)
) STRICT, WITHOUT ROWID;
