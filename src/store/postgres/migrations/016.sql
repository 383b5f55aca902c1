-- The present state of a phone, trunk, agent or queue of a PBX, and its last emitted one (JSON).
CREATE TABLE subject_states (
  pbx   text NOT NULL,
  id    text COLLATE "C" NOT NULL,
  state text NOT NULL,
  PRIMARY KEY (pbx, id)
);

-- Events that are kept for a day only.
CREATE INDEX events_short_lived ON events (id) WHERE sequence < 0;
