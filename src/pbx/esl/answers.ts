import type { EslFrame } from './decoder.ts'

// Answers to our own questions, in the form of events: so they are taken in their place among these.

/** The name of such an event; FreeSWITCH has none like it. */
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
  }
  return { offset: 0, contentType: 'text/event-json', get: () => '', body: '', event }
}
