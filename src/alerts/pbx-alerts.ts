import type { Log } from '../lib/log.ts'
import { startPeriodic } from '../lib/periodic.ts'
import { type NowUs, SECOND } from '../lib/time.ts'
import type { WatchedStatus } from '../pbx/pbx.ts'
import type { Store } from '../store/store.ts'
import type { Alerts } from './alert-messages.ts'

type PbxAlertOptions = {
  readonly status: () => readonly Pick<WatchedStatus, 'name' | 'state' | 'lastError' | 'callsNotFollowed'>[]
  readonly alerts: Pick<Alerts, 'send'>
  readonly store: { readonly outages: Store['outages']; readonly pbxs: Pick<Store['pbxs'], 'pbxList'> }
  readonly log: Log
  readonly steadyUs: NowUs
  readonly everyMs?: number
}

const EVERY_MS = 5_000
const ALERT_AFTER_US = 5 * 60 * SECOND

/**
 * Starts to watch the PBXs. Sends one alert when a PBX has been down for five minutes, and one when it is up again; and
 * when its calls are no longer followed because too many are open, and when they are again.
 * Reported outages are in the store, so that the next process or another node reports their end.
 */
export function startPbxAlerts(options: PbxAlertOptions): { stop(): Promise<void> } {
  const { status, alerts, store, log, steadyUs, everyMs = EVERY_MS } = options
  const downSinceUs = new Map<string, number>()
  const unfollowed = new Set<string>()

  async function endReported(name: string, reason?: string): Promise<void> {
    if (await store.outages.outageRemove({ what: 'pbx', key: name }))
      alerts.send({ what: 'pbx', state: 'up', name, reason })
  }
  async function report(name: string, lastError: string | null): Promise<void> {
    if (!(await store.outages.outageAdd({ what: 'pbx', key: name, name }))) return
    log.warn({ pbx: name, reason: lastError }, 'the PBX has been down for 5 minutes')
    alerts.send({ what: 'pbx', state: 'down', name, reason: lastError ?? undefined })
  }

  function checkCalls(present: ReturnType<typeof status>): void {
    const beyond = new Map(present.map(({ name, callsNotFollowed }) => [name, callsNotFollowed.now]))
    for (const name of unfollowed) {
      if ((beyond.get(name) ?? 0) > 0) continue
      unfollowed.delete(name)
      alerts.send({ what: 'calls', state: 'followed', name })
    }
    for (const [name, count] of beyond) {
      if (count === 0 || unfollowed.has(name)) continue
      unfollowed.add(name)
      alerts.send({ what: 'calls', state: 'not_followed', name, reason: 'the setting --max-calls' })
    }
  }

  async function check(): Promise<void> {
    const present = status()
    checkCalls(present)
    const reported = new Set((await store.outages.outageList('pbx')).map(({ key }) => key))
    const names = new Set(present.map(({ name }) => name))
    // A PBX that came back has the full five minutes again.
    for (const name of downSinceUs.keys()) if (!names.has(name)) downSinceUs.delete(name)
    for (const { name, state, lastError } of present) {
      const sinceUs = downSinceUs.get(name)
      if (state === 'up') {
        downSinceUs.delete(name)
        if (reported.has(name)) await endReported(name)
      } else if (sinceUs === undefined) downSinceUs.set(name, steadyUs())
      else if (!reported.has(name) && steadyUs() - sinceUs >= ALERT_AFTER_US) await report(name, lastError)
    }
    const missing = [...reported].filter((name) => !names.has(name))
    if (missing.length === 0) return
    // A PBX that is unknown here may be watched by another node.
    const existing = new Set((await store.pbxs.pbxList()).flatMap(({ name, url }) => (url === null ? [] : name)))
    for (const name of missing) if (!existing.has(name)) await endReported(name, 'it was removed')
  }

  return startPeriodic(everyMs, () =>
    check().catch((err) => log.debug({ err }, 'cannot store the outages of PBXs; will retry')),
  )
}
