import { humanize } from '../lib/format.ts'
import type { Call, DeliveryState, Pbx } from '../lib/resources.ts'
import { Icon, type IconName } from './icon.tsx'

export const DELIVERY_ICON: Readonly<Record<DeliveryState, IconName>> = {
  pending: 'clock',
  delivered: 'check',
  failed: 'cross',
  cancelled: 'ban',
}

export const DELIVERY_TONE: Readonly<Record<DeliveryState, string>> = {
  pending: 'pending',
  delivered: 'good',
  failed: 'bad',
  cancelled: 'neutral',
}

/** Shows the state of a delivery; a pending one that has failed before is `retrying`. */
export function DeliveryBadge({ state, retrying = false }: { state: DeliveryState; retrying?: boolean }) {
  return (
    <span class={`badge ${retrying ? 'ring' : DELIVERY_TONE[state]}`}>
      <Icon name={retrying ? 'retry' : DELIVERY_ICON[state]} />
      {retrying ? 'retrying' : state}
    </span>
  )
}

/** The colour of each state and result of a call; any other is neutral. */
const CALL_TONE: Readonly<Record<string, string>> = {
  ringing: 'ring',
  waiting: 'pending',
  answered: 'good',
  voicemail: 'pending',
  no_answer: 'ring',
  busy: 'ring',
  cancelled: 'neutral',
  failed: 'bad',
}

/** Shows the state or the result of a call; the dot marks a live call. */
export function CallBadge({ state, dot = false }: { state: string; dot?: boolean }) {
  return (
    <span class={`badge ${CALL_TONE[state] ?? 'neutral'}`}>
      {dot ? <i class="dot" aria-hidden="true" /> : null}
      {humanize(state)}
    </span>
  )
}

const PBX_TONE = { up: 'good', connecting: 'pending', down: 'bad', refused: 'bad' } as const

/** Shows the state of a PBX. */
export function PbxBadge({ pbx: { state } }: { pbx: Pick<Pbx, 'state'> }) {
  return <span class={`badge ${PBX_TONE[state]}`}>{state}</span>
}

/** Shows the direction of a call as an icon. */
export function DirectionIcon({ direction }: Pick<Call, 'direction'>) {
  return (
    <span class={`direction ${direction}`} title={direction}>
      <Icon name={direction} />
      <span class="visually-hidden">{direction}</span>
    </span>
  )
}

/** Shows the name of an event, with a mark for its kind: of a call, of a dial, or a transfer. */
export function EventLabel({ name }: { name: string }) {
  const kind = name.startsWith('dial') ? 'dial' : name.includes('transfer') ? 'transfer' : 'call'
  return <span class={`event-name ${kind}`}>{humanize(name)}</span>
}
