-- The place of a removed PBX's recordings (JSON), from its URL. The row stays while recordings are read from there.
ALTER TABLE pbxs ADD COLUMN recordings text;
