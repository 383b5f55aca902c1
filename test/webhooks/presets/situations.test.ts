import { describe, expect, test } from 'bun:test'
import type { CallEvent } from '../../../src/calls/event.ts'
import { isOnlyOnRequest } from '../../../src/lib/event-kinds.ts'
import { FLOW_PRESETS, presetByName } from '../../../src/webhooks/presets/catalog.ts'
import { runPreset } from '../../help/crm/run-flow.ts'
import type { CrmAnswer, CrmStub } from '../../help/crm/server.ts'
import { ALL_RECORDINGS, expectedCalls, extensionsOf, type Situation, situationOf } from '../../help/crm/situations.ts'
import { STUBS } from '../../help/crm/stubs.ts'

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
]

/** Every extension has a user but the last, so that a user without mapping is part of every situation with two. */
function usersOf(stub: CrmStub, events: readonly CallEvent[]): Record<string, string> {
  const extensions = extensionsOf(events)
  const mapped = extensions.length > 1 ? extensions.slice(0, -1) : extensions
  return Object.fromEntries(mapped.map((extension, index) => [extension, stub.userAt(index)]))
}

type Play = {
  readonly stub: CrmStub
  readonly name: string
  readonly situation: Situation
  readonly killedAfter?: ReadonlySet<number>
}

async function play({ stub, name, situation: { events }, killedAfter }: Play) {
  const preset = presetByName(name)
  if (preset === undefined) throw new Error(`there is no preset ${name}`)
  const asked = new Set<string>(preset.events)
  const wanted = events.filter(({ name }) => !isOnlyOnRequest(name) || asked.has(name))
  const parameters = { ...stub.parameters, users: usersOf(stub, events) }
  const run = { preset, parameters, webhookUrl: stub.url, events: wanted, authorization: stub.authorization }
  return await runPreset(killedAfter === undefined ? run : { ...run, killedAfter })
}

/** What the CRM has in the end is what happened: each call once, with its owner, its result and its recording. */
function expectCalls(stub: CrmStub, { events }: Situation): void {
  const { logs = () => true, knowsAnswer = true } = stub
  const expected = expectedCalls(events, usersOf(stub, events), String(stub.parameters.responsible)).filter(logs)
  const isId = stub.calls().every(({ id }) => id !== null)
  const key = (one: { id: string | null; number: string; direction: string }) =>
    isId ? String(one.id) : `${one.direction} ${one.number}`
  const logged = stub.calls().map((one) => ({
    key: key(one),
    direction: one.direction,
    number: one.number,
    ...(knowsAnswer ? { isAnswered: one.isAnswered } : {}),
    user: one.user,
    seconds: one.seconds,
    isRecorded: one.recordings > 0,
  }))
  const wanted = expected.map((one) => ({
    key: key(one),
    direction: one.direction,
    number: one.number,
    ...(knowsAnswer ? { isAnswered: one.isAnswered } : {}),
    user: one.user,
    seconds: stub.countsWholeCall === true ? one.seconds : one.talkSeconds,
    isRecorded: one.recordings > 0,
  }))
  expect(logged.toSorted(byKey)).toEqual(wanted.toSorted(byKey))
}
const byKey = (one: { key: string }, other: { key: string }): number =>
  one.key < other.key ? -1 : one.key > other.key ? 1 : 0

/** Cards stay with those who answered, and with nobody else. */
function expectCards(stub: CrmStub, { events }: Situation): void {
  const users = usersOf(stub, events)
  expectShown(stub, events, users)
  for (const [callId, shown] of stub.cards?.() ?? []) {
    const unanswered = new Set<string>()
    const answered = new Set<string>()
    for (const { body } of events) {
      const { data } = body
      if (data.name !== 'dial_ended' || data.call.id !== callId || data.stage.kind !== 'user') continue
      if (data.call.direction === 'outbound') continue
      const user = users[data.stage.target ?? '']
      if (user !== undefined) (data.stage.result === 'answered' ? answered : unanswered).add(user)
    }
    for (const user of unanswered)
      expect([callId, user, answered.has(user) || !shown.has(user)]).toEqual([callId, user, true])
  }
}

/** While a phone rings, its user has the card. */
function expectShown(stub: CrmStub, events: readonly CallEvent[], users: Readonly<Record<string, string>>): void {
  const { shown, showsBy } = stub
  if (shown === undefined) return
  for (const { body } of events) {
    const { data } = body
    if (data.name !== 'dial_started' || data.stage.kind !== 'user' || data.call.direction !== 'inbound') continue
    const user = users[data.stage.target ?? '']
    const number = data.call.from.e164 ?? data.call.from.number
    if (user === undefined || number === null) continue
    expect([
      user,
      shown()
        .get(showsBy === 'id' ? data.call.id : number)
        ?.has(user),
    ]).toEqual([user, true])
  }
}

test('every preset has a stub', () =>
  expect([...new Set(STUBS.map(({ preset }) => preset))].sort()).toEqual(FLOW_PRESETS.map(({ name }) => name).sort()))

describe.each(STUBS.map(({ label, preset, start }) => [label, preset, start] as const))('%s', (_, name, start) => {
  test.each(ALL_RECORDINGS)('%s', async (recording) => {
    const stub = start()
    try {
      const end = await play({ stub, name, situation: situation(recording) })
      expect({ failures: end.failures, refusals: stub.refusals }).toEqual({ failures: [], refusals: [] })
      expectCalls(stub, situation(recording))
      expectCards(stub, situation(recording))
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
