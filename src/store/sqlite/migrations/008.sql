-- The number of a delivery's present schedule. Each retry by hand begins another, and outcomes of earlier schedules are
-- ignored.
ALTER TABLE deliveries ADD COLUMN generation INTEGER NOT NULL DEFAULT 1;
