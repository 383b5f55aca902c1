import { afterEach, expect, test } from 'bun:test'
import type { Finding } from '../../../src/pbx/connection/finding.ts'
import { parsePbxUrl } from '../../../src/pbx/source/pbx-url.ts'
import { checkPbx } from '../../../src/pbx/tools/check.ts'
import { judgeTenants } from '../../../src/pbx/tools/check-tenants.ts'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { fixture } from '../../help/pbx.ts'
import { customersOf, recordingOfAll } from '../../help/tenant-recordings.ts'

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

const DOMAIN = { by: 'domain', variable: null } as const
const accountOf = (name: string) => ['Acme.example'].find((one) => one.toLowerCase() === name.toLowerCase())

/** Checks a replayed PBX that begins to play when a client logs in. */
async function check(options: Parameters<typeof startReplay>[0], query: string, listenMs = 0): Promise<Finding[]> {
  const replay = startReplay(options)
  stops.push(replay.stop)
  const parsed = parsePbxUrl(`${replay.url}?${query}`)
  if ('wrong' in parsed) throw new Error(parsed.wrong)
  return checkPbx(parsed.pbx, listenMs, { accountOf })
}

test('the domains of a FreeSWITCH, and the command that adds the account of one that has none', async () => {
  const findings = await check({ files: [fixture('outbound-answered.esl')] }, 'tenants=domain')
  expect(findings).toContainEqual({ level: 'ok', text: 'its customers (tenants=domain): pbx.example' })
  expect(findings.filter(({ level }) => level === 'missing').map(({ text }) => text)).toEqual([
    'there is no account pbx.example, so the events of its calls are not sent: hookswitch user add --account pbx.example --email … --name …',
  ])
})

test('the account codes that an Asterisk shows while it is watched', async () => {
  const customers = customersOf('asterisk', 2).map((one) => ({ ...one, fixtures: one.fixtures.slice(0, 1) }))
  const recording = recordingOfAll('asterisk', customers)
  const findings = await check({ files: [recording], speed: Number.POSITIVE_INFINITY }, 'tenants=accountcode', 100)
  const seen = findings.find(({ text }) => text.startsWith('its customers'))
  expect(seen?.text).toContain('Customer1.example')
})

test('contexts of trunks are no customers: a context without an account is advice', () => {
  const judge = (...values: string[]) => judgeTenants({ by: 'context', variable: null }, new Set(values), { accountOf })
  expect(judge('from-trunk', 'ACME.example', 'default')).toEqual([
    { level: 'ok', text: 'its customers (tenants=context): ACME.example, default, from-trunk' },
    {
      level: 'advice',
      text: 'there is no account default; if this is the context of a customer: hookswitch user add --account default --email … --name …',
    },
  ])
  expect(judge('from-trunk', 'ACME.example').at(-1)).toEqual({ level: 'ok', text: 'each customer has an account' })
})

test('an account that is added after the check is not missing yet', () => {
  const levels = (accountsFollow: boolean) =>
    judgeTenants(DOMAIN, new Set(['new.example']), { accountOf, accountsFollow }).map(({ level }) => level)
  expect([levels(false), levels(true)]).toEqual([
    ['ok', 'missing'],
    ['ok', 'advice'],
  ])
})

test('a name that a shell would read otherwise is quoted', () => {
  const findings = judgeTenants(DOMAIN, new Set(["Ann's shop"]), { accountOf })
  expect(findings.at(-1)?.text).toEndWith(`hookswitch user add --account 'Ann'\\''s shop' --email … --name …`)
})

test('some customers without an account are named, even of hundreds', () => {
  const values = new Set(Array.from({ length: 300 }, (_, index) => `c${index}.example`))
  const findings = judgeTenants(DOMAIN, values, { accountOf })
  expect(findings).toHaveLength(52)
  expect(findings.at(-1)?.text).toMatch(/^there is no account for 250 more names: .*, and 200 more$/)
})

test('a PBX that shows no customer, and accounts that are not known', () => {
  expect(judgeTenants(DOMAIN, new Set(), { accountOf })).toEqual([
    { level: 'advice', text: expect.stringMatching(/again/) },
  ])
  expect(judgeTenants(DOMAIN, new Set(['a.example']), {})).toEqual([
    { level: 'ok', text: 'its customers (tenants=domain): a.example' },
    { level: 'advice', text: expect.stringMatching(/accounts are unknown here: add --data/) },
  ])
})
