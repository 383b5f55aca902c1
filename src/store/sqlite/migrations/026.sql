-- How often cached contacts had to be forgotten, since a number was erased: services forget theirs when it changes.
CREATE TABLE contact_erasures (
  id    INTEGER PRIMARY KEY CHECK (id = 1),
  count INTEGER NOT NULL
) STRICT;
INSERT INTO contact_erasures (id, count) VALUES (1, 0);
