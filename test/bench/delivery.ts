import { OWNS_EVERYTHING } from '../../src/cluster/ownership.ts'
import { startDispatcher } from '../../src/deliveries/run/dispatcher.ts'
import { newEmitter } from '../../src/deliveries/run/emitter.ts'
import { newAttempt } from '../../src/deliveries/sending/attempt.ts'
import type { Observer } from '../../src/deliveries/sending/observer.ts'
import { newUuid } from '../../src/lib/id.ts'
import { nowUs } from '../../src/lib/time.ts'
import { newSecret } from '../../src/outbound/signature.ts'
import { openClock } from '../../src/store/clock.ts'
import { openDatabase } from '../../src/store/sqlite/engine/database.ts'
import { mutation, type Tx } from '../../src/store/sqlite/engine/mutation.ts'
import { prepared } from '../../src/store/sqlite/engine/prepared.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { storeOver } from '../../src/store/sqlite/store-over.ts'
import type { Store } from '../../src/store/store.ts'
import { allowing, LOG, listed } from '../deliveries/run/rig.ts'
import { emptyFolder } from '../help/app.ts'
import { NO_FLOWS } from '../help/deliveries.ts'
import { storeEvents } from '../help/store.ts'
import { TEMPLATES } from '../help/templates.ts'

const addAccount = mutation('bench.addAccount', (tx: Tx, id: number): void => {
  prepared<never, [number, string]>(tx, 'INSERT OR IGNORE INTO accounts (id, name) VALUES (?, ?)').run(
    id,
    `account ${id}`,
  )
})

/** Returns a body of about `bytes` bytes, with as many quotes and short strings as a real one. */
export function bodyOf(bytes: number): string {
  const party = { number: '+4930123456', name: 'Anna Beispiel', extension: null, e164: null, contact: null }
  const data: Record<string, unknown> = {
    name: 'call_started',
    account: 'default',
    pbx: 'office',
    call: { from: party, to: party },
  }
  for (let n = 0; JSON.stringify({ data }).length < bytes - 40; n += 1) data[`field_${n}`] = 'some value'
  return JSON.stringify({ time: '2026-11-20T21:51:36.204118Z', data })
}

/** A store with the lists of some accounts. */
export async function newStore(accounts: readonly (readonly string[])[]) {
  const folder = emptyFolder()
  const path = `${folder.path}/hookswitch.db`
  const setup = openDatabase(path)
  for (const [index, urls] of accounts.entries()) {
    const accountId = index + 1
    await setup.commit(addAccount, accountId)
    const list = urls.map((url) => listed(url))
    const secrets = list.map(newSecret)
    await storeOver(setup).webhooks.listReplace({ accountId, list, ifMatch: null, secrets, nowUs: nowUs() })
  }
  await setup.stop()
  return { path, [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

/** Such a store with the dispatcher on it, as the service has them. */
export async function startBenchService(accounts: readonly (readonly string[])[], open?: () => Promise<Store>) {
  const { db, dispose } = open === undefined ? await newOpenStore(accounts) : await fill(await open(), accounts)
  const clock = await openClock({ maintenance: db.maintenance, log: LOG })
  const emitter = newEmitter()
  const latencies = new Map<number, number[]>()
  let delivered = 0
  const observer = {
    started: () => {},
    endedUnsent: () => {},
    webhookRemoved: () => {},
    ended({ delivery, state, atUs }: Parameters<Observer['ended']>[0]) {
      if (state !== 'delivered') return
      delivered += 1
      const own = latencies.get(delivery.webhookId)
      if (own === undefined) latencies.set(delivery.webhookId, [atUs - delivery.atUs])
      else own.push(atUs - delivery.atUs)
    },
  }
  const attempt = newAttempt({ allow: allowing('loopback') })
  const dispatcher = startDispatcher({
    templates: TEMPLATES,
    ownership: OWNS_EVERYTHING,
    store: db,
    clock,
    emitter,
    makeTurn: NO_FLOWS,
    attempt,
    log: LOG,
    observer,
  })
  let sequence = 0
  return {
    db,
    latencies,
    delivered: () => delivered,
    /** Stores some events of an account in one mutation, and nudges. */
    async emit(accountId: number, events: number, body: string): Promise<void> {
      const atUs = nowUs()
      const fresh = Array.from({ length: events }, () => {
        sequence += 1
        return { uuid: newUuid(atUs), callId: newUuid(atUs), name: 'call_started' as const, sequence, atUs, body }
      })
      emitter.emit('stored', await storeEvents(db, fresh, { accountId, nowSteadyUs: clock.steadyUs() }))
    },
    async stop() {
      await dispatcher.stop()
      await db.stop()
      dispose()
    },
  }
}

async function newOpenStore(accounts: readonly (readonly string[])[]): Promise<{ db: Store; dispose(): void }> {
  const store = await newStore(accounts)
  const thread = () => new Worker(new URL('../../src/app/writer.ts', import.meta.url).href)
  return { db: openSqliteStore(store.path, { thread }), dispose: () => store[Symbol.dispose]() }
}

/** Puts the lists of some accounts into an empty store of any engine. */
async function fill(db: Store, accounts: readonly (readonly string[])[]): Promise<{ db: Store; dispose(): void }> {
  for (const [index, urls] of accounts.entries()) {
    const account = `account ${index + 1}`
    const user = { account, type: 1, name: 'A', email: `${index}@example.com`, passwordHash: '', atUs: nowUs() }
    if (index > 0) await db.accounts.userCreate(user)
    const list = urls.map((url) => listed(url))
    const secrets = list.map(newSecret)
    await db.webhooks.listReplace({ accountId: index + 1, list, ifMatch: null, secrets, nowUs: nowUs() })
  }
  return { db, dispose: () => undefined }
}

/** Returns how many deliveries per second are stored, signed, sent and logged, with at most 2,048 pending at a time. */
export async function deliveredRate(
  accounts: readonly (readonly string[])[],
  body: string,
  deliveries: number,
  open?: () => Promise<Store>,
): Promise<number> {
  const service = await startBenchService(accounts, open)
  const fan = accounts[0]?.length ?? 1
  const run = async (count: number) => {
    const before = service.delivered()
    const startedMs = performance.now()
    let emitted = 0
    const source = async (offset: number) => {
      for (let turn = offset; emitted < count; turn += 1) {
        const events = Math.max(1, Math.round(16 / fan))
        emitted += events * fan
        await service.emit((turn % accounts.length) + 1, events, body)
        while (emitted - (service.delivered() - before) > 2_048) await Bun.sleep(1)
      }
    }
    await Promise.all(Array.from({ length: 16 }, (_, offset) => source(offset)))
    while (service.delivered() - before < emitted) await Bun.sleep(1)
    return (emitted / (performance.now() - startedMs)) * 1_000
  }
  await run(Math.min(20_000, deliveries / 2))
  const rate = await run(deliveries)
  await service.stop()
  return rate
}
