-- Webhooks and PBXs that were reported as down, until they are reported as up: also by the process that comes after.
CREATE TABLE outages (
  what TEXT NOT NULL, -- webhook or pbx
  key  TEXT NOT NULL, -- the id of the webhook, the name of the PBX
  name TEXT NOT NULL, -- as it was reported
  PRIMARY KEY (what, key)
) STRICT, WITHOUT ROWID;
