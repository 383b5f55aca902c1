-- The names of a node's presets, percent-encoded and separated by spaces; NULL: the node is of an earlier version.
ALTER TABLE nodes ADD COLUMN presets text;
