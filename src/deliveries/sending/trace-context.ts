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

/** The last one is remembered: an event goes to several webhooks, one after the other. */
let last: { readonly callId: string; readonly traceId: string } | undefined

function traceIdOf(callId: string): string {
  if (callId !== last?.callId) last = { callId, traceId: newTraceId(callId) }
  return last.traceId
}

/** Returns the digits of a UUID, or a hash of any other id. */
function newTraceId(callId: string): string {
  const digits = callId.replaceAll('-', '').toLowerCase()
  return /^(?!0+$)[0-9a-f]{32}$/.test(digits) ? digits : createHash('sha256').update(callId).digest('hex').slice(0, 32)
}
