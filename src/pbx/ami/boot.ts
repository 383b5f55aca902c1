import { SECOND } from '../../lib/time.ts'
import type { Dialogue } from './dialogue.ts'

/** Uptimes are whole seconds, and come late by the network's delay. */
const TOLERANCE_US = 3 * SECOND

/**
 * Names this run of Asterisk by the time it was started. A user without the right to ask is told the uptime at best, which gives that
 * time roughly: within the tolerance it is the run that we knew. `null` if nothing tells.
 */
export async function bootOf(
  dialogue: Dialogue,
  { lastBoot, patience }: { readonly lastBoot: string | null; readonly patience: { readonly bootMs: number } },
  bootedUs: () => number,
): Promise<string | null> {
  const late = Bun.sleep(patience.bootMs).then(() => undefined)
  const reply = await Promise.race([dialogue.ask({ Action: 'CoreStatus' }), late])
  const frame = reply?.kind === 'reply' ? reply.frame : undefined
  if (frame?.has('CoreStartupTime')) return `${frame.get('CoreStartupDate')} ${frame.get('CoreStartupTime')}`.trim()
  const roughlyUs = bootedUs()
  if (Number.isNaN(roughlyUs)) return null
  const known = /^about (\d+)$/.exec(lastBoot ?? '')
  if (known !== null && Math.abs(Number(known[1]) - roughlyUs) < TOLERANCE_US) return lastBoot
  return `about ${Math.round(roughlyUs)}`
}
