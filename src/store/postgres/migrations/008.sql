-- Of a removed PBX: where the files of its recordings are (JSON), as its URL had it. The row stays while recordings are read from there.
ALTER TABLE pbxs ADD COLUMN recordings text;
