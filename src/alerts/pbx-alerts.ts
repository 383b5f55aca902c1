import type { Log } from '../lib/log.ts'
import { MILLISECOND, type NowUs } from '../lib/time.ts'
import type { PbxStatus } from '../pbx/connection/supervisor.ts'
import type { Alerts } from './alerts.ts'

export type PbxAlertOptions = {
  readonly status: () => readonly Pick<PbxStatus, 'name' | 'state' | 'lastError'>[]
  readonly alerts: Alerts
  readonly log: Log
  /** A clock that never steps, in microseconds from any moment. */
  readonly steadyUs?: NowUs
  readonly everyMs?: number
}

const EVERY_MS = 5_000
const LONG_US = 5 * 60_000 * MILLISECOND

/** Says of each PBX when it has been away for five minutes, and when it is back after that. */
export function startPbxAlerts(options: PbxAlertOptions): { stop(): Promise<void> } {
  const { status, alerts, log, steadyUs = () => performance.now() * MILLISECOND, everyMs = EVERY_MS } = options
  const away = new Map<string, { readonly sinceUs: number; said: boolean }>()

  function look(): void {
    for (const { name, state, lastError } of status()) {
      const known = away.get(name)
      if (state === 'up') {
        away.delete(name)
        if (known?.said) alerts.say({ what: 'pbx', state: 'up', name })
      } else if (known === undefined) away.set(name, { sinceUs: steadyUs(), said: false })
      else if (!known.said && steadyUs() - known.sinceUs >= LONG_US) {
        known.said = true
        log.warn({ pbx: name, reason: lastError }, 'the PBX is down for 5 minutes')
        alerts.say({ what: 'pbx', state: 'down', name, reason: lastError ?? undefined })
      }
    }
  }

  const timer = setInterval(look, everyMs)
  look()
  return {
    async stop() {
      clearInterval(timer)
    },
  }
}
