import { createHash } from 'node:crypto'

const NO_PARENT = '0'.repeat(16)
const PARENT_DIGITS = 16
/** Parent ids are drawn for many attempts at once: a call for each would cost a microsecond of every attempt. */
const DRAWN_TOGETHER = 512
let drawn = ''
let at = 0

/**
 * Returns a `traceparent` header (W3C Trace Context, sampled) for one attempt. All events of a call share one trace id,
 * so that receivers' spans join one trace; the parent id is new each time.
 */
export function traceparentOf(callId: string): string {
  if (at === drawn.length) {
    drawn = crypto.getRandomValues(Buffer.alloc((DRAWN_TOGETHER * PARENT_DIGITS) / 2)).toString('hex')
    at = 0
  }
  const parentId = drawn.slice(at, at + PARENT_DIGITS)
  at += PARENT_DIGITS
  return `00-${traceIdOf(callId)}-${parentId === NO_PARENT ? `${NO_PARENT.slice(1)}1` : parentId}-01`
}

/** The last ones are remembered: an event goes to several webhooks, and those take turns with other calls. */
const known = new Map<string, string>()
const MAX_KNOWN = 1_024

function traceIdOf(callId: string): string {
  const remembered = known.get(callId)
  if (remembered !== undefined) return remembered
  const traceId = newTraceId(callId)
  if (known.size === MAX_KNOWN) known.clear()
  known.set(callId, traceId)
  return traceId
}

/** Returns the digits of a UUID, or a hash of any other id. */
function newTraceId(callId: string): string {
  const digits = callId.replaceAll('-', '').toLowerCase()
  return /^(?!0+$)[0-9a-f]{32}$/.test(digits) ? digits : createHash('sha256').update(callId).digest('hex').slice(0, 32)
}
