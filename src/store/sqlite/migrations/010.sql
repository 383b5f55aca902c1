-- What is known of a PBX beside its calls (JSON): which of its endpoints are phones and which trunks, and its last run.
CREATE TABLE pbx_memory (
  pbx    TEXT PRIMARY KEY,
  memory TEXT NOT NULL
) STRICT;
