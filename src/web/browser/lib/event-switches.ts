import type { Webhook } from './resources.ts'

export type Switch = Exclude<keyof Webhook, 'url'>

type SwitchText = {
  readonly name: Switch
  /** The two lines of a column's head; together they are the event's name. */
  readonly group: 'call' | 'dial'
  readonly verb: string
  /** When the event occurs, for a tooltip. */
  readonly meaning: string
}

/** The seven switches of a webhook, in the order in which the page shows them. */
export const EVENT_SWITCHES: readonly SwitchText[] = [
  { name: 'call_started', group: 'call', verb: 'started', meaning: 'An incoming, outgoing or internal call started' },
  { name: 'dial_started', group: 'dial', verb: 'started', meaning: 'A phone or an outside number starts ringing' },
  { name: 'dial_answered', group: 'dial', verb: 'answered', meaning: 'It was picked up' },
  { name: 'dial_ended', group: 'dial', verb: 'ended', meaning: 'It stopped ringing, or that party left the call' },
  {
    name: 'call_transferred',
    group: 'call',
    verb: 'transferred',
    meaning: 'The call was transferred, blind or attended',
  },
  { name: 'call_ended', group: 'call', verb: 'ended', meaning: 'Everybody has left the call' },
  {
    name: 'call_saved',
    group: 'call',
    verb: 'saved',
    meaning: 'The record of the call is complete, with its recordings',
  },
]

/** The names of the switches alone. */
export const SWITCHES: readonly Switch[] = EVENT_SWITCHES.map(({ name }) => name)
