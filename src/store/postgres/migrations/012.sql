-- The settings of a node that commands on other machines need (JSON, no secret); none from a node of an earlier version.
ALTER TABLE nodes ADD COLUMN settings text;
