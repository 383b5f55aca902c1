-- The audit trail: who changed what in webhooks, options, PBXs, users and settings.
CREATE TABLE audit (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at      bigint NOT NULL,
  action  text NOT NULL,
  account text,
  email   text, -- the user who made the change over the API
  by      text, -- the system user who ran a command
  address text,
  subject text, -- the e-mail address of the user who was changed
  facts   text  -- JSON
);
