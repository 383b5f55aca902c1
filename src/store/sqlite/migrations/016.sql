-- The PBXs to watch. A URL has the secret of its PBX; it is NULL once the PBX was removed, whose row goes when its calls are ended.
CREATE TABLE pbxs (
  name       TEXT PRIMARY KEY,
  url        TEXT,
  origin     TEXT NOT NULL,   -- settings: of --pbx; store: of a command or the API
  version    TEXT NOT NULL,   -- random, new with each change
  ends_calls INTEGER NOT NULL -- 1: the calls that are up are of an earlier PBX of this name, and have to be ended
) STRICT, WITHOUT ROWID;

-- The state of each PBX (JSON) as the node that watches it stored it last, for other nodes.
CREATE TABLE pbx_states (
  pbx   TEXT PRIMARY KEY,
  state TEXT NOT NULL,
  at_us INTEGER NOT NULL -- steady time
) STRICT, WITHOUT ROWID;
