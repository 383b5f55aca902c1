-- A node that stops says so: nothing is given to it, and others take its share.
ALTER TABLE nodes ADD COLUMN leaving boolean NOT NULL DEFAULT false;
