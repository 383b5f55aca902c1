import type { Trunk } from '../events/states.ts'
import type { Log } from '../lib/log.ts'
import { startPeriodic } from '../lib/periodic.ts'
import { MILLISECOND, type NowUs } from '../lib/time.ts'
import type { Present } from '../states/states.ts'
import type { Store } from '../store/store.ts'
import type { Alerts } from './alert-messages.ts'

type TrunkAlertOptions = {
  /** Returns the present states of each PBX that this node is connected to, by name. */
  readonly present: () => ReadonlyMap<string, readonly Present[]>
  /** How long a trunk has to be down before it is reported. */
  readonly afterMs: number
  readonly alerts: Pick<Alerts, 'send'>
  readonly store: { readonly outages: Store['outages']; readonly pbxs: Pick<Store['pbxs'], 'pbxList'> }
  readonly log: Log
  readonly steadyUs: NowUs
  readonly everyMs?: number
}

const EVERY_MS = 5_000

/** `unknown` is neither up nor down: the PBX does not check. */
const isDown = ({ state }: Trunk): boolean => state === 'rejected' || state === 'unreachable'
const isUp = ({ state }: Trunk): boolean => state === 'registered' || state === 'reachable'

/**
 * Starts to watch the trunks. Sends one alert when a trunk has been rejected or unreachable for some time, and one when
 * it is up again. Reported outages are in the store, so that the next process or another node reports their end.
 */
export function startTrunkAlerts(options: TrunkAlertOptions): { stop(): Promise<void> } {
  const { present, afterMs, alerts, store, log, steadyUs, everyMs = EVERY_MS } = options
  const downSinceUs = new Map<string, number>()

  async function checkTrunk(pbx: string, trunk: Trunk, isReported: boolean): Promise<void> {
    const key = keyOf(pbx, trunk.trunk)
    const name = `${trunk.trunk} (${pbx})`
    if (!isDown(trunk)) {
      downSinceUs.delete(key)
      if (isReported && isUp(trunk) && (await store.outages.outageRemove({ what: 'trunk', key })))
        alerts.send({ what: 'trunk', state: 'up', name })
      return
    }
    const sinceUs = downSinceUs.get(key) ?? steadyUs()
    downSinceUs.set(key, sinceUs)
    if (isReported || steadyUs() - sinceUs < afterMs * MILLISECOND) return
    if (!(await store.outages.outageAdd({ what: 'trunk', key, name }))) return
    log.warn({ pbx, trunk: trunk.trunk, state: trunk.state, reason: trunk.reason }, 'a trunk is down')
    alerts.send({ what: 'trunk', state: 'down', name, reason: trunk.reason ?? trunk.state })
  }

  async function check(): Promise<void> {
    const reported = new Map((await store.outages.outageList('trunk')).map((outage) => [outage.key, outage.name]))
    const all = present()
    const seen = new Set<string>()
    for (const [pbx, states] of all)
      for (const { kind, state } of states) {
        if (kind !== 'trunk') continue
        const key = keyOf(pbx, state.trunk)
        seen.add(key)
        await checkTrunk(pbx, state, reported.has(key))
      }
    for (const key of downSinceUs.keys()) if (!seen.has(key)) downSinceUs.delete(key)
    const missing = [...reported].filter(([key]) => !seen.has(key))
    if (missing.length === 0) return
    // A trunk that its PBX no longer has, or whose PBX is no longer watched.
    const existing = new Set((await store.pbxs.pbxList()).flatMap(({ name, url }) => (url === null ? [] : name)))
    for (const [key, name] of missing) {
      const pbx = pbxOf(key)
      if (existing.has(pbx) && (all.get(pbx) ?? []).length === 0) continue
      if (await store.outages.outageRemove({ what: 'trunk', key }))
        alerts.send({ what: 'trunk', state: 'up', name, reason: 'it was removed' })
    }
  }

  return startPeriodic(everyMs, () =>
    check().catch((err) => log.debug({ err }, 'cannot store the outages of trunks; will retry')),
  )
}

const keyOf = (pbx: string, trunk: string): string => `${encodeURIComponent(pbx)} ${trunk}`
const pbxOf = (key: string): string => decodeURIComponent(key.split(' ')[0] ?? '')
