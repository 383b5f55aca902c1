import type { Ownership } from '../../cluster/cluster.ts'
import type { States } from '../../events/states.ts'
import { backoff } from '../../lib/backoff.ts'
import type { Log } from '../../lib/log.ts'
import { startPeriodic } from '../../lib/periodic.ts'
import type { ClientTls } from '../../outbound/client-tls.ts'
import { parseMqttUrl, topicRoot } from '../../outbound/mqtt-url.ts'
import { type Target, targetOf } from '../../outbound/target.ts'
import type { WebhookRecord } from '../../store/operations/webhooks.ts'
import type { Store } from '../../store/store.ts'
import { clientTlsOf } from '../../webhooks/webhooks.ts'
import { idOf, messagesOf, type PbxEntities, type Place } from './entities.ts'
import { type Connect, createPublisher, type Publisher } from './publisher.ts'

/**
 * Publishes the phones, trunks and queues of accounts to home automation: each webhook with the option `discovery`
 * gets a publisher at its broker, which is emptied when the option or the webhook goes.
 */
type DiscoveryOptions = {
  readonly store: Pick<Store, 'webhooks' | 'accounts'>
  readonly ownership: Pick<Ownership, 'ownsAccount'>
  readonly states: ReadStates
  /** Returns the names of the PBXs that are connected. */
  readonly connected: () => Promise<ReadonlySet<string>>
  /** Connects to the broker of a target. */
  readonly connectTo: (target: Target, tls: ClientTls | undefined) => Connect
  readonly log: Log
  readonly everyMs?: number
}

/** Reads the present states of an account. */
type ReadStates = <Kind extends 'phone' | 'trunk' | 'queue'>(
  accountId: number,
  kind: Kind,
) => Promise<(States[Kind] & { readonly pbx: string })[]>

/** A webhook with the option. */
type Entry = {
  readonly accountId: number
  readonly place: Place
  readonly publisher: Publisher
  /** Another URL or other certificates need another publisher. */
  readonly settings: string
  /** The URL for logs. */
  readonly logged: string
  /** The publication that is under way. */
  running: Promise<void> | undefined
  failures: number
  /** After a failure: when to try again. */
  notBeforeMs: number
}

const EVERY_MS = 1_000
const FIRST_PAUSE_MS = 1_000
const LAST_PAUSE_MS = 60_000
/** The root of the topics of a webhook whose topic begins with a name in braces. */
const DEFAULT_ROOT = 'hookswitch'

/** Starts to publish the changes, once a second, until it is stopped. */
export function startDiscovery(options: DiscoveryOptions): { stop(): Promise<void> } {
  const { store, ownership, connectTo, log, everyMs = EVERY_MS } = options
  const readWanted = createReader(options)
  let entries = new Map<string, Entry>()

  async function refresh(): Promise<void> {
    const next = new Map<string, Entry>()
    for (const { accountId, url, options } of await readWanted()) {
      const account = (await store.accounts.accountGetName(accountId)) ?? ''
      const tls = options === null ? undefined : clientTlsOf(options)
      const place = placeOf(url, account)
      // Two webhooks for the same topics: the first one has them.
      if (place === undefined || next.has(place.node)) continue
      const settings = JSON.stringify([url, account, tls?.id])
      const before = entries.get(place.node)
      if (before !== undefined && before.settings !== settings) await before.publisher.close()
      const target = targetOf(url)
      const isSame = before?.settings === settings
      next.set(
        place.node,
        before !== undefined && isSame
          ? before
          : {
              accountId,
              place,
              publisher: createPublisher(place, connectTo(target, tls)),
              settings,
              logged: target.logged,
              running: undefined,
              failures: 0,
              notBeforeMs: 0,
            },
      )
    }
    for (const [node, entry] of entries) if (!next.has(node)) void takeBack(entry)
    entries = next
  }

  async function takeBack({ accountId, publisher, logged, running }: Entry): Promise<void> {
    await running
    // Else another node publishes for the account now.
    if (ownership.ownsAccount(accountId))
      await publisher.publish(new Map()).catch((error) => log.warn({ webhook: logged, err: error }, NOT_TAKEN_BACK))
    await publisher.close()
  }

  async function publish(entry: Entry): Promise<void> {
    const { accountId, place, publisher, logged } = entry
    try {
      await publisher.publish(messagesOf(place, await entitiesOf(options, accountId)))
      if (entry.failures > 0)
        log.info({ webhook: logged }, 'phones, trunks and queues are published to home automation again')
      entry.failures = 0
    } catch (error) {
      if (entry.failures === 0) log.warn({ webhook: logged, err: error }, CANNOT_PUBLISH)
      entry.failures += 1
      entry.notBeforeMs = performance.now() + backoff(entry.failures, FIRST_PAUSE_MS, LAST_PAUSE_MS)
    }
  }

  const rounds = startPeriodic(everyMs, async () => {
    await refresh().catch((error) =>
      log.debug({ err: error }, 'cannot read the webhooks of home automation; will retry'),
    )
    // A slow broker delays no other.
    for (const entry of entries.values()) {
      entry.publisher.check()
      if (performance.now() < entry.notBeforeMs) continue
      entry.running ??= publish(entry).finally(() => {
        entry.running = undefined
      })
    }
  })
  return {
    async stop() {
      await rounds.stop()
      await Promise.all([...entries.values()].map(async ({ publisher }) => await publisher.close()))
    },
  }
}

/** Creates the function that returns the webhooks with the option, of the accounts of this node. */
function createReader({ store, ownership }: Pick<DiscoveryOptions, 'store' | 'ownership'>) {
  let known: { readonly mark: string; readonly records: readonly WebhookRecord[] } = { mark: '', records: [] }
  return async (): Promise<readonly WebhookRecord[]> => {
    const mark = await store.webhooks.webhookGetVersionsMark()
    if (mark !== known.mark) {
      const accountIds = (await store.webhooks.webhookListVersions()).map(({ accountId }) => accountId)
      const all = await store.webhooks.webhookListOfAccounts(accountIds)
      known = { mark, records: all.filter(({ listed, options }) => listed && options?.discovery != null) }
    }
    return known.records.filter(({ accountId }) => ownership.ownsAccount(accountId))
  }
}

async function entitiesOf(
  { states, connected }: Pick<DiscoveryOptions, 'states' | 'connected'>,
  accountId: number,
): Promise<PbxEntities[]> {
  const up = await connected()
  const phones = Map.groupBy(await states(accountId, 'phone'), ({ pbx }) => pbx)
  const trunks = Map.groupBy(await states(accountId, 'trunk'), ({ pbx }) => pbx)
  const queues = Map.groupBy(await states(accountId, 'queue'), ({ pbx }) => pbx)
  return [...new Set([...phones.keys(), ...trunks.keys(), ...queues.keys()])].map((pbx) => ({
    pbx,
    isConnected: up.has(pbx),
    phones: phones.get(pbx) ?? [],
    trunks: trunks.get(pbx) ?? [],
    queues: queues.get(pbx) ?? [],
  }))
}

const CANNOT_PUBLISH = 'cannot publish phones, trunks and queues to home automation; will retry'
const NOT_TAKEN_BACK =
  'cannot delete the retained messages for home automation: delete those of this account at the broker'

/** Returns the messages' place at the broker of a URL; `undefined` for a URL of another kind. */
function placeOf(url: string, account: string): Place | undefined {
  const parsed = parseMqttUrl(url)
  if ('problem' in parsed) return undefined
  const root = topicRoot(parsed.topic)
  const node = `hookswitch_${idOf(root === '' ? account : `${root}/${account}`)}`
  return { account, node, root: `${root === '' ? DEFAULT_ROOT : root}/state` }
}
