-- The PBXs to watch. A URL has the secret of its PBX; it is NULL once the PBX was removed, whose row goes when its calls are ended.
CREATE TABLE pbxs (
  name       text PRIMARY KEY,
  url        text,
  origin     text NOT NULL,   -- settings: of --pbx; store: of a command or the API
  version    text NOT NULL,   -- random, new with each change
  ends_calls boolean NOT NULL -- the calls that are up are of an earlier PBX of this name, and have to be ended
);

-- The state of each PBX (JSON) as the node that watches it stored it last, for other nodes.
CREATE TABLE pbx_states (
  pbx   text PRIMARY KEY,
  state text NOT NULL,
  at_us bigint NOT NULL -- steady time
);
