import { expect } from 'bun:test'
import type { CallEvent } from '../../../src/events/bodies.ts'
import type { CrmStub } from './server.ts'
import { expectedCalls, extensionsOf, type Situation } from './situations.ts'
import type { Row, WantedCall } from './table.ts'

/** Every extension has a user but the last, so that a user without mapping is part of every situation with two. */
export function usersOf(stub: CrmStub, events: readonly CallEvent[]): Record<string, string> {
  const extensions = extensionsOf(events)
  const mapped = extensions.length > 1 ? extensions.slice(0, -1) : extensions
  return Object.fromEntries(mapped.map((extension, index) => [extension, stub.userAt(index)]))
}

/** Returns the map of users that a row asks for. */
export function usersOfRow(stub: CrmStub, { users }: Row, events: readonly CallEvent[]): Record<string, string> {
  if (users === 'none') return {}
  if (users === undefined) return usersOf(stub, events)
  return Object.fromEntries(extensionsOf(events).map((extension, index) => [extension, stub.userAt(index)]))
}

/** The CRM has each call that is written down, once, with the right user, times and recordings, and no other. */
export function expectRow(stub: CrmStub, row: Row, users: Readonly<Record<string, string>>): void {
  const { logs = () => true, knowsAnswer = true, recordingIs = 'file' } = stub
  const responsible = String(stub.parameters.responsible)
  const userOf = ({ owner, missedBy }: WantedCall): string => {
    const extension = owner ?? missedBy.find((one) => users[one] !== undefined) ?? ''
    return users[extension] ?? responsible
  }
  const hasAddresses = row.change !== 'without addresses of recordings'
  const wanted = row.calls.filter(logs).map((one) => ({
    direction: one.direction,
    number: one.number,
    ...(knowsAnswer ? { isAnswered: one.isAnswered } : {}),
    user: userOf(one),
    startedAt: one.startedAt,
    seconds: stub.countsWholeCall === true ? one.seconds : one.talkSeconds,
    recordings: recordingIs === 'file' || hasAddresses ? one.recordings : 0,
  }))
  const logged = stub.calls().map((one) => ({
    direction: one.direction,
    number: one.number,
    ...(knowsAnswer ? { isAnswered: one.isAnswered } : {}),
    user: one.user,
    startedAt: one.startedAt,
    seconds: one.seconds,
    recordings: one.recordings,
  }))
  const placeOf = ({ startedAt, number }: { startedAt: string; number: string }) => `${startedAt} ${number}`
  const inOrder = <Call extends { startedAt: string; number: string }>(calls: readonly Call[]) =>
    calls.toSorted((one, other) => placeOf(one).localeCompare(placeOf(other)))
  expect(inOrder(logged)).toEqual(inOrder(wanted))
}

/** Expects that the CRM has each call once, with its owner, its result and its recording. */
export function expectCalls(stub: CrmStub, { events }: Situation): void {
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

/** Expects that cards stay only with the users who answered. */
export function expectCards(stub: CrmStub, { events }: Situation, users = usersOf(stub, events)): void {
  expectShown(stub, events, users)
  for (const [callId, shown] of stub.cards?.() ?? []) {
    const unanswered = new Set<string>()
    const answered = new Set<string>()
    for (const { body } of events) {
      const { data } = body
      if (data.name !== 'dial_started' && data.name !== 'dial_ended') continue
      if (data.call.id !== callId || data.stage.kind !== 'user' || data.call.direction === 'outbound') continue
      const user = users[data.stage.target ?? '']
      if (user === undefined) continue
      // A phone may ring again, also when the recording ends.
      if (data.name === 'dial_started') unanswered.delete(user)
      else (data.stage.result === 'answered' ? answered : unanswered).add(user)
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
