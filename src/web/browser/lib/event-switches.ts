import { EVENT_KINDS, EVENT_SWITCHES, type EventSwitch } from '../../../events/kinds.ts'

export type Switch = EventSwitch

type SwitchText = {
  readonly name: Switch
  /** The two lines of a column's head; together they are the event's name. */
  readonly group: string
  readonly verb: string
  /** When the event occurs, for a tooltip. */
  readonly meaning: string
}

/** The names of the switches, in the order in which a call emits their events: so the page shows them. */
export const SWITCHES: readonly Switch[] = [...new Set(Object.values(EVENT_KINDS).flatMap(({ obeys }) => obeys ?? []))]

/** The switches of a webhook with their texts. */
export const SWITCH_TEXTS: readonly SwitchText[] = SWITCHES.map((name) => {
  const [group = '', ...verb] = name.split('_')
  return { name, group, verb: verb.join(' '), meaning: EVENT_SWITCHES[name] }
})
