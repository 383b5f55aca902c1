import type { EslFrame } from './decoder.ts'

// Answers to Hookswitch's own questions in the form of events, so that they are processed in order with the other
// events.

/** The name of such an event; FreeSWITCH has no event with this name. */
export const ANSWER = 'HOOKSWITCH_ANSWER'

/** Returns a frame with an event that has these fields. */
export function answerEvent(name: string, fields: Readonly<Record<string, string>>): EslFrame {
  const event = {
    name,
    subclass: '',
    body: '',
    get: (key: string) => fields[key] ?? '',
    has: (key: string) => key in fields,
    all: (key: string) => (fields[key] === undefined ? [] : [fields[key]]),
    entries: () => Object.entries(fields),
  }
  return { offset: 0, contentType: 'text/event-json', get: () => '', body: '', event }
}
