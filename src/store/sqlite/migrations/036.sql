-- Tokens for the pop page: they read calls alone, those of one extension if it is not NULL. Their hash is another one (auth/token.ts).
ALTER TABLE tokens ADD COLUMN pop INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tokens ADD COLUMN extension TEXT;
