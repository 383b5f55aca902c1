import { SECOND } from '../../lib/time.ts'
import type { Run } from '../connection/timeouts.ts'
import type { Dialogue } from './actions.ts'

/** Uptimes are whole seconds, and come late by the network's delay. */
const TOLERANCE_US = 3 * SECOND

/** What an Asterisk tells of its start. */
export type Told = {
  /** The date and time, as it prints them; `late`: no answer yet; `denied`: its user may not ask. */
  readonly start: { readonly at: string } | 'late' | 'denied'
  /** From the uptime that it says at the login; `null` to a user who may not read class system. */
  readonly startedUs: number | null
}

/**
 * Returns which run of Asterisk this is; `null`: nothing tells, so that it is the one before for all that is known. A run is known
 * again by its start as Asterisk prints it, or by its uptime: the former is late on a busy machine, and changes with the hour of summer.
 */
export function runOf(last: Run | null, { start, startedUs }: Told): Run | null {
  const at = typeof start === 'object' ? start.at : null
  if (last !== null && last.id === at) return last
  const lastUs = last?.startedUs ?? null
  const isKnown = lastUs !== null && startedUs !== null
  if (last !== null && isKnown && Math.abs(lastUs - startedUs) < TOLERANCE_US) return last
  if (at !== null) return { id: at, startedUs }
  // Nothing to compare with, and a better answer is under way: a name of another kind would look like another run.
  if (startedUs === null || (start === 'late' && !isKnown)) return null
  return { id: `about ${Math.round(startedUs)}`, startedUs }
}

/** Asks when Asterisk was started, for as long as that is worth waiting for. */
export async function askStart(dialogue: Dialogue, waitMs: number): Promise<Told['start']> {
  const late = Bun.sleep(waitMs).then(() => undefined)
  const reply = await Promise.race([dialogue.ask({ Action: 'CoreStatus' }), late])
  if (reply === undefined || reply.kind === 'silent') return 'late'
  const frame = reply.kind === 'reply' ? reply.frame : undefined
  if (!frame?.has('CoreStartupTime')) return 'denied'
  return { at: `${frame.get('CoreStartupDate')} ${frame.get('CoreStartupTime')}`.trim() }
}
