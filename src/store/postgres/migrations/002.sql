-- Recordings of saved calls, of PBXs for which it is known where their files are. The path is as the PBX reported it.
CREATE TABLE recordings (
  call_id    text NOT NULL,
  id         text NOT NULL,
  account_id bigint NOT NULL,
  pbx        text NOT NULL,
  path       text NOT NULL,
  state      text NOT NULL,   -- pending: its file is awaited; saved; failed: it was given up; erased: its copy has to be deleted
  since      bigint NOT NULL, -- when its call was saved
  sequence   int NOT NULL, -- of its call_saved
  error      text,            -- why the last try failed
  size       bigint,          -- of a saved one, as all that follows: bytes
  stamp      text,            -- shows whether the PBX's file was written since
  sha256     text,            -- of its copy
  media_type text,
  copy       text,            -- the name of its copy
  PRIMARY KEY (call_id, id)
);
CREATE INDEX recordings_by_state ON recordings (state, pbx, since);
CREATE INDEX recordings_by_time ON recordings (since);

-- Signs the links to recordings; there is one.
CREATE TABLE recording_key (
  id  int PRIMARY KEY CHECK (id = 1),
  key text NOT NULL
);
