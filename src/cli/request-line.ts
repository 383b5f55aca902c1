import type { EventBody } from '../events/bodies.ts'
import { phraseOf } from '../events/phrase.ts'
import { harmless, type Paint } from '../lib/terminal-text.ts'
import type { ReceivedRequest } from './receiver.ts'

/** The result of verifying a signature: valid, wrong and why, or not verified. */
export type SignatureVerdict =
  | { readonly kind: 'right' | 'unchecked' }
  | { readonly kind: 'wrong'; readonly why: string }

/** Returns a request in one line: time, signature, event, what happened, and the delay since it happened. */
export function requestLine(
  paint: Paint,
  request: ReceivedRequest,
  event: EventBody | undefined,
  verdict: SignatureVerdict,
): string {
  const { name, what } =
    event === undefined ? otherwise(request) : { name: event.data.name, what: harmless(phraseOf(event)) }
  const delay = event === undefined ? '' : paint('dim', `${request.atMs - Date.parse(event.time)} ms`)
  const time = paint('dim', new Date(request.atMs).toISOString().slice(11, 23))
  return [time, markOf(paint, verdict), paint('cyan', name.padEnd(22)), what, delay].join('  ').trimEnd()
}

function markOf(paint: Paint, verdict: SignatureVerdict): string {
  if (verdict.kind === 'right') return paint('green', '✓ signed')
  return verdict.kind === 'wrong' ? paint('red', `✗ ${verdict.why}`) : paint('yellow', '? not verified')
}

/** Describes a request that is not a call event: a test request, or any other by its path. */
function otherwise({ method, path, body }: ReceivedRequest): { name: string; what: string } {
  const isTest = /"name":\s*"test"/.test(body)
  return isTest
    ? { name: 'test', what: 'a test request' }
    : { name: method, what: `${harmless(path)}: not a call event` }
}
