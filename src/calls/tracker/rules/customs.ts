import type { Custom } from '../../../events/bodies.ts'
import type { Call } from '../state/state.ts'

/** What a dialplan has said of a call that is held back: more than any dialplan says before its call begins. */
const MAX_WAITING = 100

/** Notes what the dialplan says of a call, to be emitted after the start of the call. */
export function noteCustom(call: Call, custom: Custom, atUs: number): void {
  if (call.customs.length < MAX_WAITING) call.customs = [...call.customs, { custom, atUs }]
}
