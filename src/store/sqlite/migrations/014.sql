-- Recordings of saved calls, of PBXs for which it is known where their files are. The path is as the PBX reported it.
CREATE TABLE recordings (
  call_id    TEXT NOT NULL,
  id         TEXT NOT NULL,
  account_id INTEGER NOT NULL,
  pbx        TEXT NOT NULL,
  path       TEXT NOT NULL,
  state      TEXT NOT NULL,    -- pending: its file is awaited; saved; failed: it was given up; erased: its copy has to be deleted
  since      INTEGER NOT NULL, -- when its call was saved
  sequence   INTEGER NOT NULL, -- of its call_saved
  error      TEXT,             -- why the last try failed
  size       INTEGER,          -- of a saved one, as all that follows: bytes
  stamp      TEXT,             -- shows whether the PBX's file was written since
  sha256     TEXT,             -- of its copy
  media_type TEXT,
  copy       TEXT,             -- the name of its copy
  PRIMARY KEY (call_id, id)
) WITHOUT ROWID;
CREATE INDEX recordings_by_state ON recordings (state, pbx, since);
CREATE INDEX recordings_by_time ON recordings (since);

-- Signs the links to recordings; there is one.
CREATE TABLE recording_key (
  id  INTEGER PRIMARY KEY CHECK (id = 1),
  key TEXT NOT NULL
);
