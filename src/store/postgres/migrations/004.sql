-- Operators change webhooks too: an account's, and no user's.
ALTER TABLE operator_acts ALTER COLUMN email DROP NOT NULL;
ALTER TABLE operator_acts ADD COLUMN facts text; -- JSON: what the log has besides
