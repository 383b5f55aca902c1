import type { ChannelSignal } from '../../../calls/calls.ts'
import { SECOND } from '../../../lib/time.ts'
import type { EslEvent } from '../event.ts'
import { createLeg, sourceOf } from './channel-create.ts'
import type { EslContext } from './legs.ts'

/** Signals, with the PBX's time stamp of what they report. */
type Stamped = { readonly signals: readonly ChannelSignal[]; readonly stamp: string }

/**
 * Returns the beginning of a leg whose creation was not seen, and which the list of channels lacked: FreeSWITCH writes
 * its list some 100 ms after its events, so neither shows a leg that began just before the connection. The leg's later
 * events have the same facts, with their times.
 */
export function beginningOf(context: EslContext, event: EslEvent): Stamped[] {
  if (!beginsHere(context, event)) return []
  const id = event.get('Unique-ID')
  if (id === '' || context.legs.has(id) || context.ended.has(id)) return []
  // Later events do not name the caller for whom a queue or an enterprise group rings.
  if (event.get('Call-Direction') === 'outbound' && !context.legs.has(sourceOf(event) ?? '')) return []
  const created = { signals: createLeg(context, event), stamp: event.get('Caller-Channel-Created-Time') }
  const leg = context.legs.get(id)
  if (leg === undefined) return []
  const rang = RINGING_TIMES.map((name) => event.get(name)).find((stamp) => Number(stamp) > 0)
  if (rang === undefined || leg.source === null) return [created]
  leg.rang = true
  return [created, { signals: [{ kind: 'ringing', id }], stamp: rang }]
}

/** Returns whether an event is taken for the beginning of its leg, if that is unknown. */
export const beginsHere = (context: EslContext, event: EslEvent): boolean =>
  SHOWS_LEG.has(event.name) && isBarelyUnlisted(context, event)

/** The time before a list in which legs begin that it may lack, and that in which events overtake each other. */
const BEFORE_US = SECOND
const BEHIND_US = 50_000

/**
 * Returns whether a leg began so shortly before the connection's first list that the list may lack it: its creation
 * will not come. A leg that a dial string delays shows the time of the dial as its creation, and rings as soon as it
 * is created.
 */
export function isBarelyUnlisted({ listedUs, dialling }: EslContext, event: EslEvent): boolean {
  // A creation that was reported waits for its turn.
  if (listedUs === null || listedUs <= 0 || dialling.has(event.get('Unique-ID'))) return false
  const times = event.get('Call-Direction') === 'outbound' ? [CREATION_TIME, ...RINGING_TIMES] : [CREATION_TIME]
  return times.some((name) => {
    const us = Number(event.get(name))
    return us >= listedUs - BEFORE_US && us < listedUs + BEHIND_US
  })
}

/** Events of a leg's own that have the facts of its creation. */
const SHOWS_LEG: ReadonlySet<string> = new Set([
  'CHANNEL_PROGRESS',
  'CHANNEL_PROGRESS_MEDIA',
  'CHANNEL_ANSWER',
  'CHANNEL_BRIDGE',
])

const RINGING_TIMES = ['Caller-Channel-Progress-Time', 'Caller-Channel-Progress-Media-Time']
const CREATION_TIME = 'Caller-Channel-Created-Time'
