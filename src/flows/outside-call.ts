import { parseTime, wholeSeconds } from '../lib/time.ts'

/**
 * CRMs keep calls with parties outside the PBX. A merge can hide one: an internal call that is older survives the
 * outside call that is joined into it, and a call of another outside party ends in the call that it was bridged with.
 * Presets then get the outside call in place of the event's call.
 */

/** The parts of a call (events/bodies.ts) that the outside call replaces; it keeps all others. */
type Call = Readonly<Record<string, unknown>> & {
  readonly id: string
  readonly merged_from: readonly string[]
  readonly merged_into: string | null
  readonly direction: string
  readonly from: Party | null
  readonly to: Party | null
  readonly started_at: string | null
  readonly answered_at: string | null
  readonly ended_at: string | null
  readonly result: string | null
  readonly missed_by: readonly unknown[]
}
type Party = { readonly number: string | null; readonly e164: string | null }
type Body = { readonly data: Readonly<Record<string, unknown>> & { readonly call: Call } }

/** Returns the bodies of a call's events, in their order; none of an unknown call. */
type BodiesOfCall = (callId: string) => Promise<readonly string[]>

/** The body for the steps of a preset, and the call that it has. */
type OutsideEvent = { readonly body: string; readonly callId: string }

/** Returns an event's body with the outside call that a merge hides, or as it is. This program wrote the bodies. */
export async function outsideEvent({ body, callId }: OutsideEvent, bodiesOf: BodiesOfCall): Promise<OutsideEvent> {
  // Few events name a merge: the others are not parsed.
  if (!/"merged_(from":\[|into":)"/.test(body)) return { body, callId }
  const event: Body = JSON.parse(body)
  const { call } = event.data
  const outside = call.merged_into === null ? await hiddenBy(call, bodiesOf) : await keptApart(call, bodiesOf)
  if (outside === undefined) return { body, callId }
  return { body: JSON.stringify({ ...event, data: { ...event.data, call: outside } }), callId: outside.id }
}

/** Returns the outside call that was merged into an internal call, with the facts of both; otherwise `undefined`. */
async function hiddenBy(survivor: Call, bodiesOf: BodiesOfCall): Promise<Call | undefined> {
  if (survivor.direction !== 'internal') return undefined
  for (const id of survivor.merged_from) {
    const merged = lastCallOf(await bodiesOf(id))
    if (merged !== undefined && merged.direction !== 'internal') return joined(merged, survivor)
  }
  return undefined
}

/** Returns a call that ended in one with another outside party: it is a call of its own for the CRM. */
async function keptApart(call: Call, bodiesOf: BodiesOfCall): Promise<Call | undefined> {
  if (call.direction === 'internal' || call.merged_into === null) return undefined
  const survivor = lastCallOf(await bodiesOf(call.merged_into))
  const isApart =
    survivor !== undefined && survivor.direction !== 'internal' && outsideNumberOf(survivor) !== outsideNumberOf(call)
  return isApart ? { ...call, merged_into: null } : undefined
}

/** Returns an outside call as it went on in an internal one, which has its end and its owner. */
function joined(outside: Call, survivor: Call): Call {
  const { direction, started_at: startedAt } = outside
  const { ended_at: endedAt } = survivor
  const answeredAt = outside.answered_at ?? latest(survivor.answered_at, startedAt)
  const isEnded = endedAt !== null
  const isMissed = direction === 'inbound' && answeredAt === null
  return {
    ...survivor,
    id: outside.id,
    parent_id: outside.parent_id,
    direction,
    from: outside.from,
    to: outside.to,
    did: outside.did,
    queue: outside.queue ?? survivor.queue,
    started_at: startedAt,
    answered_at: answeredAt,
    answered_by: outside.answered_by ?? survivor.answered_by,
    result: survivor.result !== null && answeredAt !== null ? 'answered' : survivor.result,
    duration: secondsBetween(startedAt, endedAt),
    wait_duration: secondsBetween(startedAt, answeredAt ?? endedAt),
    talk_duration: secondsBetween(answeredAt, endedAt),
    missed: isEnded && direction === 'inbound' ? isMissed : null,
    missed_by: isMissed ? survivor.missed_by : [],
  }
}

/** Returns the number outside the PBX in an event's body, in E.164 if it is known; this program wrote the body. */
export function outsideNumberIn(body: string): string | null {
  const { data }: { data?: { call?: Call } } = JSON.parse(body)
  return data?.call === undefined ? null : outsideNumberOf(data.call)
}

/** Returns the call as its last event has it; an erased event has none. */
function lastCallOf(bodies: readonly string[]): Call | undefined {
  const last = bodies.at(-1)
  if (last === undefined) return undefined
  const { data }: { data?: { call?: Call } } = JSON.parse(last)
  return data?.call
}

function outsideNumberOf({ direction, from, to }: Call): string | null {
  const party = direction === 'outbound' ? to : from
  return party?.e164 ?? party?.number ?? null
}

/** Returns the later of two times; `null` if the first is unknown. */
const latest = (time: string | null, other: string | null): string | null =>
  time !== null && other !== null && time < other ? other : time

function secondsBetween(from: string | null, to: string | null): number | null {
  const [fromUs, toUs] = [from, to].map((time) => (time === null ? undefined : parseTime(time)))
  return fromUs === undefined || toUs === undefined ? null : wholeSeconds(fromUs, toUs)
}
