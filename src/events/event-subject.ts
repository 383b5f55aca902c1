import type { CallEventBody, EventBody } from './bodies.ts'

/** Returns whether a body is about a call, not about a phone, trunk, agent or queue. */
export const isOfCall = (body: EventBody): body is CallEventBody => 'call' in body.data && body.data.call !== null
