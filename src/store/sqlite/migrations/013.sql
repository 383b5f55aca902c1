-- How a URL wants its events (JSON): what is not the default. It goes with the URL's secret, when that does.
ALTER TABLE secrets ADD COLUMN options TEXT;
