-- Tokens for the pop page: they read calls alone, those of one extension if it is not NULL. Their hash is another one (auth/token.ts), so
-- that a node of the version before, which does not know these columns, never finds such a token.
ALTER TABLE tokens ADD COLUMN pop BOOLEAN NOT NULL DEFAULT FALSE, ADD COLUMN extension TEXT;
