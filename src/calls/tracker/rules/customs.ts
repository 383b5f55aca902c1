import type { Custom } from '../../../events/bodies.ts'
import type { Call } from '../state/state.ts'

/** The most custom events of a call that is held back: more than any dialplan sends before its call begins. */
const MAX_WAITING = 100

/** Notes a custom event of the dialplan, to be emitted after the start of the call. */
export function noteCustom(call: Call, custom: Custom, atUs: number): void {
  if (call.customs.length < MAX_WAITING) call.customs = [...call.customs, { custom, atUs }]
}
