-- Webhooks and PBXs that were reported as down, until they are reported as up: by whichever node owns them then.
CREATE TABLE outages (
  what text NOT NULL, -- webhook or pbx
  key  text NOT NULL, -- the id of the webhook, the name of the PBX
  name text NOT NULL, -- as it was reported
  PRIMARY KEY (what, key)
);
