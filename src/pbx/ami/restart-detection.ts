import { SECOND } from '../../lib/time.ts'
import type { PbxRun } from '../connection/protocol.ts'
import type { Actions } from './actions.ts'

/** Uptimes are whole seconds, and come late by the network's delay. */
const TOLERANCE_US = 3 * SECOND

/** The start of an Asterisk, as far as its user may read it. */
type StartFacts = {
  /** The date and time as Asterisk prints them; `late`: no answer yet; `denied`: the user has no permission. */
  readonly start: { readonly at: string } | 'late' | 'denied'
  /** The start according to the uptime at login; `null` if the user may not read class system. */
  readonly startedUs: number | null
}

/**
 * Returns the run of Asterisk; `null` without evidence, which counts as the last known run. A run is identified by its
 * start as Asterisk prints it, or by its uptime: the former is late on a busy machine, and changes with daylight saving
 * time.
 */
export function runOf(last: PbxRun | null, { start, startedUs }: StartFacts): PbxRun | null {
  const at = typeof start === 'object' ? start.at : null
  if (last !== null && last.id === at) return last
  const lastUs = last?.startedUs ?? null
  const isKnown = lastUs !== null && startedUs !== null
  if (last !== null && isKnown && Math.abs(lastUs - startedUs) < TOLERANCE_US) return last
  if (at !== null) return { id: at, startedUs }
  // There is nothing to compare with, or a better answer is still to come: an id of another kind would look like
  // another run.
  if (startedUs === null || (start === 'late' && !isKnown)) return null
  return { id: `about ${Math.round(startedUs)}`, startedUs }
}

/** Requests the start of Asterisk, and waits at most `waitMs` for the answer. */
export async function requestStart(actions: Actions, waitMs: number): Promise<StartFacts['start']> {
  const late = Bun.sleep(waitMs).then(() => undefined)
  const reply = await Promise.race([actions.send({ Action: 'CoreStatus' }), late])
  if (reply === undefined || reply.kind === 'unanswered') return 'late'
  const frame = reply.kind === 'reply' ? reply.frame : undefined
  if (!frame?.has('CoreStartupTime')) return 'denied'
  return { at: `${frame.get('CoreStartupDate')} ${frame.get('CoreStartupTime')}`.trim() }
}
