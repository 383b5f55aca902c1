import type { Custom, EventBody } from '../../events/bodies.ts'
import { placeWithoutCall, STATE_SEQUENCE } from '../../events/kinds.ts'
import type { NewId } from '../../lib/id.ts'
import { rfc3339 } from '../../lib/time.ts'
import type { CallBatch, NewEvent } from '../../store/operations/calls.ts'
import { NO_FACTS } from '../../store/subscription.ts'
import type { Signal } from '../signal.ts'

/** A custom event of a dialplan outside of any call. */
type Said = Extract<Signal, { kind: 'custom_without_call' }>

type Source = {
  readonly pbx: string
  /** The account that gets the event: the URL of the PBX names it. */
  readonly account: string
  readonly accountId: number
  readonly newId: NewId
  readonly nowSteadyUs: number
}

/** Returns the custom events of the dialplan outside of any call. */
export const saidWithoutCall = (signals: readonly Signal[]): Said[] =>
  signals.filter((signal) => signal.kind === 'custom_without_call')

export function customBatch(said: readonly Said[], source: Source): CallBatch {
  const { pbx, accountId, nowSteadyUs } = source
  const events = said.map(({ custom, atUs }) => newEvent(custom, atUs, source))
  return { pbx, parts: [{ accountId, events, saved: [] }], live: [], removed: [], nowSteadyUs }
}

function newEvent(custom: Custom, atUs: number, { pbx, account, newId }: Source): NewEvent {
  const id = newId(atUs)
  const data = { name: 'custom' as const, id, sequence: null, account, pbx, call: null, custom }
  const body: EventBody = { time: rfc3339(atUs), data }
  return {
    uuid: id,
    callId: placeWithoutCall(id),
    name: 'custom',
    sequence: STATE_SEQUENCE.kept,
    atUs,
    body: JSON.stringify(body),
    facts: { ...NO_FACTS, pbx },
  }
}
