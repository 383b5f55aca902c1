-- The memory of a PBX beside its calls (JSON): its phones and trunks, and its last run.
CREATE TABLE pbx_memory (
  pbx    TEXT PRIMARY KEY,
  memory TEXT NOT NULL
) STRICT;
