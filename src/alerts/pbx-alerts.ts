import type { Log } from '../lib/log.ts'
import { type NowUs, SECOND, steadyUs as systemSteadyUs } from '../lib/time.ts'
import type { PbxStatus } from '../pbx/connection/supervisor.ts'
import type { Alerts } from './alerts.ts'

export type PbxAlertOptions = {
  readonly status: () => readonly Pick<PbxStatus, 'name' | 'state' | 'lastError'>[]
  readonly alerts: Alerts
  readonly log: Log
  readonly steadyUs?: NowUs
  readonly everyMs?: number
}

const EVERY_MS = 5_000
const ALERT_AFTER_US = 5 * 60 * SECOND

/** Watches the PBXs and sends an alert when one has been down for five minutes, and when it is up again after that. */
export function startPbxAlerts(options: PbxAlertOptions): { stop(): Promise<void> } {
  const { status, alerts, log, steadyUs = systemSteadyUs, everyMs = EVERY_MS } = options
  const down = new Map<string, { readonly sinceUs: number; alerted: boolean }>()

  function check(): void {
    const present = status()
    const names = new Set(present.map(({ name }) => name))
    // One that comes back is given the whole time again; an alert is ended by "up" alone.
    for (const [name, { alerted }] of down) if (!names.has(name) && !alerted) down.delete(name)
    for (const { name, state, lastError } of present) {
      const known = down.get(name)
      if (state === 'up') {
        down.delete(name)
        if (known?.alerted) alerts.send({ what: 'pbx', state: 'up', name })
      } else if (known === undefined) down.set(name, { sinceUs: steadyUs(), alerted: false })
      else if (!known.alerted && steadyUs() - known.sinceUs >= ALERT_AFTER_US) {
        known.alerted = true
        log.warn({ pbx: name, reason: lastError }, 'the PBX has been down for 5 minutes')
        alerts.send({ what: 'pbx', state: 'down', name, reason: lastError ?? undefined })
      }
    }
  }

  const timer = setInterval(check, everyMs)
  check()
  return {
    async stop() {
      clearInterval(timer)
    },
  }
}
