-- Grows with each change of the account's webhook list and its options: a service reads only the lists that a command has changed.
ALTER TABLE accounts ADD COLUMN list_version INTEGER NOT NULL DEFAULT 0;
