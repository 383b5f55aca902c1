-- Counts erased numbers: a service drops its cached contacts when it changes.
CREATE TABLE contact_erasures (
  id    bigint PRIMARY KEY CHECK (id = 1),
  count bigint NOT NULL
);
INSERT INTO contact_erasures (id, count) VALUES (1, 0);
