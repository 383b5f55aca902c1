import { createHash, randomBytes } from 'node:crypto'

const NO_PARENT = '0'.repeat(16)

/**
 * Returns a `traceparent` header (W3C Trace Context, sampled) for one attempt. The trace is that of a call, so that the
 * spans of all systems that its events reach are one trace; the parent id is another one each time.
 */
export function traceparentOf(callId: string): string {
  const parentId = randomBytes(8).toString('hex')
  return `00-${traceIdOf(callId)}-${parentId === NO_PARENT ? `${NO_PARENT.slice(1)}1` : parentId}-01`
}

/** Returns the digits of a UUID; of any other id as many digits that are its own. */
function traceIdOf(callId: string): string {
  const digits = callId.replaceAll('-', '').toLowerCase()
  return /^(?!0+$)[0-9a-f]{32}$/.test(digits) ? digits : createHash('sha256').update(callId).digest('hex').slice(0, 32)
}
