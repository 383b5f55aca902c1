-- The number of a delivery's present schedule. Each retry by hand begins another, and the outcome of an attempt of the one before counts no more.
ALTER TABLE deliveries ADD COLUMN generation INTEGER NOT NULL DEFAULT 1;
