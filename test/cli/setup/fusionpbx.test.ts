import { expect, test } from 'bun:test'
import { SQL } from 'bun'
import { parse } from 'csv-parse/sync'
import { customersCsv, type FusionPbx, readDomains, readGateways } from '../../../src/cli/setup/fusionpbx.ts'
import { databaseSource, emptyDatabase, POSTGRES_MISSING } from '../../help/postgres.ts'

test('an e-mail address of a customer is one field, whatever it holds', () => {
  const emails = ['me@a.example', 'me@a.example,admin', 'me@a.example,admin\nx,x,you@a.example', '"me@a.example', null]
  const csv = customersCsv(emails.map((email) => ({ domain: 'a.example', email })))
  expect(csv).toStartWith('a.example,a.example,me@a.example,user\n')
  expect(parse(csv)).toEqual(emails.map((email) => ['a.example', 'a.example', email ?? 'admin@a.example', 'user']))
})

test.skipIf(POSTGRES_MISSING !== undefined)(
  'domains and gateways are read from the database of FusionPBX',
  async () => {
    await using database = await emptyDatabase()
    const sql = new SQL(database.url)
    // The columns as FusionPBX 5 makes them.
    await sql.unsafe(`
    CREATE TABLE v_domains (domain_uuid uuid, domain_name text, domain_enabled boolean);
    CREATE TABLE v_users (user_uuid uuid, domain_uuid uuid, user_email text);
    CREATE TABLE v_gateways (gateway_uuid uuid, domain_uuid uuid, gateway text, enabled boolean);
    INSERT INTO v_domains VALUES ('11111111-1111-4111-8111-111111111111', 'acme.example', true),
      ('22222222-2222-4222-8222-222222222222', 'gone.example', false);
    INSERT INTO v_users VALUES (gen_random_uuid(), '11111111-1111-4111-8111-111111111111', 'ann@acme.example');
    INSERT INTO v_gateways VALUES ('04D741CE-05CA-505E-A080-37BD643147A4', NULL, 'Main carrier', true),
      (gen_random_uuid(), NULL, 'Old carrier', false)`)
    await sql.close()
    const { host, port, database: name, user, password } = databaseSource(database.url)
    const settings = { type: 'pgsql', host, port: String(port), name, username: user, password: password ?? '' }
    const entries = Object.entries(settings).map(([key, value]) => [`database.0.${key}`, value] as const)
    const fusion: FusionPbx = { path: '/etc/fusionpbx/config.conf', settings: new Map(entries) }
    expect(await readDomains(fusion)).toEqual([{ domain: 'acme.example', email: 'ann@acme.example' }])
    expect(await readGateways(fusion)).toEqual([{ id: '04d741ce-05ca-505e-a080-37bd643147a4', name: 'Main carrier' }])
  },
)

test('without its database the reason is given', async () => {
  const fusion: FusionPbx = { path: '/etc/fusionpbx/config.conf', settings: new Map([['database.0.type', 'sqlite']]) }
  expect(readGateways(fusion)).rejects.toThrow(
    'the names of gateways cannot be read: /etc/fusionpbx/config.conf names no Postgres database',
  )
})
