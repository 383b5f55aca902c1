import type { Log } from '../../lib/log.ts'
import type { Endpoints, Inventory } from '../endpoints/endpoints.ts'

/** The configuration in a PBX's lists; `undefined` without an answer. `denied`: lists that the user may not read. */
export type InventoryReply = { readonly inventory: Inventory | undefined; readonly denied: readonly string[] }

/**
 * Keeps the endpoints up to date with the PBX's configuration: after the login, after a reload, and from time to
 * time.
 */
export type InventoryRefresh = {
  /** Requests the inventory now. Resolves when the endpoints have it; never rejects. */
  refresh(): Promise<void>
  /** Requests the inventory once the configuration has stopped changing, and not too often. */
  schedule(): void
  stop(): void
}

type InventoryRefreshOptions = {
  readonly pbx: string
  readonly request: () => Promise<InventoryReply>
  readonly endpoints: Endpoints
  readonly log: Log
  readonly timeouts: {
    readonly reloadMs: number
    readonly inventoryMinMs: number
    readonly inventoryMaxMs: number
  }
}

/** Returns a refresh; it has requested nothing yet. */
export function createInventoryRefresh(options: InventoryRefreshOptions): InventoryRefresh {
  const { pbx, endpoints, log, timeouts } = options
  let isStopped = false
  let requestedMs = Number.NEGATIVE_INFINITY
  let timer: ReturnType<typeof setTimeout> | undefined
  let interval: ReturnType<typeof setInterval> | undefined

  async function refresh(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    requestedMs = performance.now()
    await request()
    if (!isStopped) interval ??= setInterval(() => void refresh(), timeouts.inventoryMaxMs)
  }

  async function request(): Promise<void> {
    try {
      const { inventory, denied } = await options.request()
      if (isStopped || inventory === undefined) return
      const count = Object.keys(inventory.endpoints).length
      // If every list was denied, keep an earlier inventory (of a user with more permissions) or the evidence of calls.
      if (count > 0 || denied.length === 0) endpoints.configure(inventory)
      const trunks = endpoints.list().filter(({ kind }) => kind === 'trunk').length
      log.info({ pbx, endpoints: count, trunks, denied }, 'read the endpoints from the configuration of the PBX')
    } catch (error) {
      log.error(
        { pbx, err: error },
        'cannot read the endpoints from the configuration of the PBX: they are classified by their calls',
      )
    }
  }

  return {
    refresh,
    schedule() {
      if (isStopped || timer !== undefined) return
      const agoMs = performance.now() - requestedMs
      timer = setTimeout(() => void refresh(), Math.max(timeouts.reloadMs, timeouts.inventoryMinMs - agoMs))
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
      clearInterval(interval)
    },
  }
}
