-- Encrypts the ids and cursors that clients get, since the plain ones count the events of all accounts. Plain ids of events up to
-- plain_to were given out by earlier versions, and stay valid: nodes of the version before go on giving them out until they are upgraded.
CREATE TABLE public_ids (
  id       int PRIMARY KEY CHECK (id = 1),
  key      text NOT NULL, -- 128 bits, hex
  plain_to bigint NOT NULL
);
INSERT INTO public_ids (id, key, plain_to)
  SELECT 1, md5(gen_random_uuid()::text || gen_random_uuid()::text), CASE WHEN EXISTS (SELECT 1 FROM events) THEN last_value + 134217728 ELSE 0 END
  FROM event_ids;

-- Which events were stored by one run of the database without a break: those behind began_at, up to where the next one begins. A
-- store that is restored, or a standby that was promoted, goes on as another history, so that a cursor shows whether its event is part
-- of the store.
CREATE TABLE event_histories (
  began_at bigint PRIMARY KEY,
  id       bigint NOT NULL, -- random
  run      text NOT NULL    -- which run of the database it is
);

-- A server that is started, restored or promoted has another time of its start; tables that are restored have other numbers.
CREATE FUNCTION hookswitch_run() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT extract(epoch FROM pg_postmaster_start_time())::text || ' ' || 'event_histories'::regclass::oid::text $$;
