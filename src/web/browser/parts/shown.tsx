import type { ComponentChildren } from 'preact'
import { clockTime, exactTime, shortTime, span, words } from '../lib/format.ts'
import type { DeliveryState } from '../lib/resources.ts'
import { Icon, type IconName } from './icon.tsx'

/** How a state, a time, an empty list and a fault are shown: the same everywhere. */

export const DELIVERY_ICON: Readonly<Record<DeliveryState, IconName>> = {
  pending: 'clock',
  delivered: 'check',
  failed: 'cross',
  cancelled: 'ban',
}

export const DELIVERY_TONE: Readonly<Record<DeliveryState, string>> = {
  pending: 'wait',
  delivered: 'good',
  failed: 'bad',
  cancelled: 'mute',
}

export function DeliveryBadge({ state, retrying = false }: { state: DeliveryState; retrying?: boolean }) {
  return (
    <span class={`badge ${retrying ? 'ring' : DELIVERY_TONE[state]}`}>
      <Icon name={retrying ? 'retry' : DELIVERY_ICON[state]} />
      {retrying ? 'retrying' : state}
    </span>
  )
}

const TONE: Readonly<Record<string, string>> = {
  ringing: 'ring',
  waiting: 'wait',
  answered: 'good',
  voicemail: 'wait',
  no_answer: 'ring',
  busy: 'ring',
  cancelled: 'mute',
  failed: 'bad',
  up: 'good',
  down: 'bad',
  connecting: 'ring',
}

export function Badge({ word, dot = false }: { word: string; dot?: boolean }) {
  return (
    <span class={`badge ${TONE[word] ?? 'mute'}`}>
      {dot ? <i class="dot" aria-hidden="true" /> : null}
      {words(word)}
    </span>
  )
}

export function EventName({ name }: { name: string }) {
  const family = name.startsWith('dial') ? 'dial' : name.includes('transfer') ? 'transfer' : 'call'
  return <span class={`event-name ${family}`}>{words(name)}</span>
}

export function When({ at, day = false }: { at: string | null; day?: boolean }) {
  if (at === null) return <span class="soft">–</span>
  return (
    <time dateTime={at} title={exactTime(at)}>
      {day ? shortTime(at) : clockTime(at)}
    </time>
  )
}

/** `in 12 s`, or `due`: its turn comes after an earlier event of its call, or when its webhook is up. */
export function Until({ at, nowMs }: { at: string; nowMs: number }) {
  const ms = Date.parse(at) - nowMs
  return (
    <time dateTime={at} title={exactTime(at)}>
      {ms <= 0 ? 'due' : `in ${span(ms)}`}
    </time>
  )
}

export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <span class="empty-icon">
        <Icon name={icon} />
      </span>
      <p class="empty-title">{title}</p>
      <div class="empty-text">{children}</div>
    </div>
  )
}

export function Problem({ text, again }: { text: string; again?: () => void }) {
  return (
    <p class="problem" role="alert">
      <Icon name="alert" />
      <span>{text}</span>
      {again === undefined ? null : (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </p>
  )
}

export function Waiting({ what }: { what: string }) {
  return (
    <p class="loading" role="status">
      Loading {what}…
    </p>
  )
}
