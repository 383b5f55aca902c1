-- The options of a URL (JSON) that differ from the defaults. They are deleted with the URL's secret.
ALTER TABLE secrets ADD COLUMN options TEXT;
