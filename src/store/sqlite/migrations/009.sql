-- What operators did to users with the command line, until a service has logged it.
CREATE TABLE operator_acts (
  id      INTEGER PRIMARY KEY,
  at      INTEGER NOT NULL,
  event   TEXT NOT NULL,
  email   TEXT NOT NULL,
  account TEXT,
  by      TEXT NOT NULL -- who ran the command
) STRICT;
