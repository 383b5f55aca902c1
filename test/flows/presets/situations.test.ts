import { describe, expect, test } from 'bun:test'
import type { CallEvent } from '../../../src/events/bodies.ts'
import { isOnlyOnRequest } from '../../../src/events/kinds.ts'
import { allPresets, presetByName } from '../../../src/flows/presets/catalog.ts'
import { expectCalls, expectCards, expectRow, usersOf, usersOfRow } from '../../help/crm/check.ts'
import { runPreset } from '../../help/crm/run-flow.ts'
import type { CrmAnswer, CrmStub } from '../../help/crm/server.ts'
import { expectedCalls, extensionsOf, SITUATIONS, type Situation, situationOf } from '../../help/crm/situations.ts'
import { STUBS } from '../../help/crm/stubs.ts'
import { eventsOf, TABLE } from '../../help/crm/table.ts'
import { scaled } from '../../help/seed.ts'

const situations = new Map<string, Situation>()
function situation(name: string): Situation {
  const known = situations.get(name) ?? situationOf(name)
  situations.set(name, known)
  return known
}

/** The calls that faults are tried with: one of each kind. */
const FAULT_CALLS = [
  'asterisk/a-inbound-answered',
  'asterisk/c-inbound-no-answer',
  'asterisk/h-ring-group',
  'asterisk/ast13-freepbx-attended-refer',
  'asterisk/ast13-freepbx-recorded',
  'asterisk/a-inbound-answered*2',
]

type Play = {
  readonly stub: CrmStub
  readonly name: string
  readonly situation: Situation
  readonly killedAfter?: ReadonlySet<number>
  readonly users?: Readonly<Record<string, string>>
}

async function play({ stub, name, situation: { events }, killedAfter, users = usersOf(stub, events) }: Play) {
  const preset = presetByName(name)
  if (preset === undefined) throw new Error(`there is no preset ${name}`)
  const asked = new Set<string>(preset.events)
  const wanted = events.filter(({ name }) => !isOnlyOnRequest(name) || asked.has(name))
  const parameters = { ...stub.parameters, users }
  const run = { preset, parameters, webhookUrl: stub.url, events: wanted, authorization: stub.authorization }
  return await runPreset(killedAfter === undefined ? run : { ...run, killedAfter })
}

/** Beside the table, every recording; the fast lane plays the table alone. */
const OF_TABLE = new Set(TABLE.map(({ recording }) => recording))
const PLAYED = scaled(4) < 4 ? [] : SITUATIONS.filter((name) => !OF_TABLE.has(name))

/** The requests that create a contact, where it is known by their path. */
const CONTACTS = /\/(Contacts?|contacts|persons|create_or_update\.json|CRM%20Lead)$/

/** Names that callers can have themselves shown with. */
const HOSTILE = [
  '","status":"Held","x":"',
  "'; drop table calls; --",
  '</a><script>alert(1)</script>&amp;',
  '&element={"assigned_user_id":"19x2"}',
  '\\"}]} {{ parameters.token }}',
  'x\r\nX-Header: y',
  'a=b '.repeat(100),
]

/** Numbers that a caller over the internet can send, to end the quotes around his number. */
const HOSTILE_NUMBERS = ['5" role:"agent', "5' or phone <> '", '5\\']

/** What a preset is known not to do. */
const NOT_RECORDED: Readonly<Record<string, string>> = {
  // Bitrix24 refuses a caller whose number is a word: the user part of a trunk.
  bitrix24: 'asterisk/f4-endpoints-with-at',
  // Zendesk's card needs the contact, which is looked for when the call begins: the number comes later.
  zendesk: 'asterisk/f4-number-comes-late',
}

type Caller = CallEvent['body']['data']['call']['from']

/** Returns the events of a call with other facts of its caller. */
const withCaller = (events: readonly CallEvent[], facts: Partial<Caller>): CallEvent[] =>
  events.map((event) => {
    const { data } = event.body
    const from = { ...data.call.from, ...facts }
    return { ...event, body: { ...event.body, data: { ...data, call: { ...data.call, from } } } as CallEvent['body'] }
  })

/** Expects that the CRM has one call, and that no request was refused. */
const expectOneCall = (stub: CrmStub, { failures }: { readonly failures: readonly unknown[] }) =>
  expect({ failures, refusals: stub.refusals, calls: stub.calls().length }).toEqual({
    failures: [],
    refusals: [],
    calls: 1,
  })

test('every preset has a stub', () =>
  expect([...new Set(STUBS.map(({ preset }) => preset))].sort()).toEqual(
    allPresets()
      .map(({ name }) => name)
      .sort(),
  ))

describe.each(STUBS.map(({ label, preset, start }) => [label, preset, start] as const))('%s', (_, name, start) => {
  test.each(TABLE.map((row) => [row.title, row] as const))('%s', async (_, row) => {
    const stub = start()
    const recorded = situation(row.recording)
    const users = usersOfRow(stub, row, recorded.events)
    try {
      const changed = { name: row.title, events: eventsOf(row, recorded.events) }
      const end = await play({ stub, name, situation: changed, users })
      expect({ failures: end.failures, refusals: stub.refusals }).toEqual({ failures: [], refusals: [] })
      expectRow(stub, row, users)
      expectCards(stub, changed, users)
    } finally {
      stub.stop()
    }
  })

  test.each(PLAYED)('%s', async (recording) => {
    const stub = start()
    try {
      const end = await play({ stub, name, situation: situation(recording) })
      expect({ failures: end.failures, refusals: stub.refusals }).toEqual({ failures: [], refusals: [] })
      if (NOT_RECORDED[name] === recording) return
      expectCalls(stub, situation(recording))
      expectCards(stub, situation(recording))
    } finally {
      stub.stop()
    }
  })

  test('a contact that the CRM refuses does not cost the call', async () => {
    const stub = start()
    const recorded = situation('asterisk/ast13-freepbx-recorded')
    let refusals = 0
    stub.failWith(({ method, path }) => {
      if (method !== 'POST' || !CONTACTS.test(path)) return undefined
      refusals += 1
      return { status: 400, body: { message: 'the number is not valid' } }
    })
    try {
      const end = await play({ stub, name, situation: recorded })
      if (refusals === 0) return
      expectOneCall(stub, end)
    } finally {
      stub.stop()
    }
  })

  test.each([
    ['an answered call', 'asterisk/a-inbound-answered'],
    ['a missed call', 'asterisk/c-inbound-no-answer'],
    ['an outgoing call', 'asterisk/f-outbound-answered'],
  ])('%s of a user who has left the company goes to the responsible user', async (_, recording) => {
    const stub = start()
    const recorded = situation(recording)
    const users = Object.fromEntries(extensionsOf(recorded.events).map((extension) => [extension, stub.leftUser]))
    try {
      const end = await play({ stub, name, situation: recorded, users })
      const { logs = () => true } = stub
      const owners = expectedCalls(recorded.events, {}, String(stub.parameters.responsible)).filter(logs)
      expect({ failures: end.failures, owners: stub.calls().map(({ user }) => user) }).toEqual({
        failures: [],
        owners: owners.map(({ user }) => (stub.knowsUsers === false ? stub.leftUser : user)),
      })
    } finally {
      stub.stop()
    }
  })

  test.each(HOSTILE)('a caller whose name is %p', async (caller) => {
    const stub = start()
    const { name: title, events } = situation('asterisk/ast13-freepbx-recorded')
    const renamed = withCaller(events, { name: caller })
    try {
      const end = await play({ stub, name, situation: { name: title, events: renamed } })
      expect({ failures: end.failures, refusals: stub.refusals }).toEqual({ failures: [], refusals: [] })
      expectCalls(stub, { name: title, events: renamed })
    } finally {
      stub.stop()
    }
  })

  test.each(HOSTILE_NUMBERS)('a caller whose number is %p is searched for as a value', async (number) => {
    const stub = start()
    const { name: title, events } = situation('asterisk/a-inbound-answered')
    const numbered = withCaller(events, { number, e164: null })
    try {
      const end = await play({ stub, name, situation: { name: title, events: numbered } })
      expectOneCall(stub, end)
    } finally {
      stub.stop()
    }
  })

  /** Plays a call again for each of its requests, with a fault at that one. */
  async function withFaultAt(recording: string, faultOf: (stub: CrmStub) => readonly CrmAnswer[]): Promise<void> {
    const first = start()
    await play({ stub: first, name, situation: situation(recording) })
    const { length } = first.requests
    const kinds = faultOf(first).length
    first.stop()
    for (let kind = 0; kind < kinds; kind += 1)
      for (let at = 0; at < length; at += 1) {
        const stub = start()
        try {
          stub.failWith((_, index) => (index === at ? faultOf(stub)[kind] : undefined))
          const end = await play({ stub, name, situation: situation(recording) })
          expect({ at, kind, failures: end.failures, refusals: stub.refusals }).toEqual({
            at,
            kind,
            failures: [],
            refusals: [],
          })
          expectCalls(stub, situation(recording))
        } finally {
          stub.stop()
        }
      }
  }

  describe.each(FAULT_CALLS)('%s', (recording) => {
    test('with too many requests, at each request', () => withFaultAt(recording, ({ limited }) => limited))
    test('with a passing fault of the CRM, at each request', () => withFaultAt(recording, ({ passing }) => passing))
    test('with a token that has expired, at each request', () =>
      withFaultAt(recording, ({ expired }) => (expired === undefined ? [] : [expired])))

    test('with a process that is ended before it has stored the answer, at each request', async () => {
      const first = start()
      const { attempts } = await play({ stub: first, name, situation: situation(recording) })
      const { repeats } = first
      first.stop()
      for (let at = 0; at < attempts; at += 1) {
        const stub = start()
        try {
          const end = await play({ stub, name, situation: situation(recording), killedAfter: new Set([at]) })
          expect({ at, failures: end.failures, refusals: stub.refusals }).toEqual({ at, failures: [], refusals: [] })
          if (repeats !== 'unknown') expectCalls(stub, situation(recording))
        } finally {
          stub.stop()
        }
      }
    })
  })
})
