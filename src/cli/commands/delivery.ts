import { type Command, Option } from 'commander'
import {
  createDeliveryService,
  type Delivery,
  type DeliveryDetail,
  type DeliveryService,
} from '../../deliveries/deliveries.ts'
import { EVENT_NAMES } from '../../events/kinds.ts'
import { openOpaqueIds, readDeliveryId } from '../../http/opaque-ids.ts'
import { Fault } from '../../lib/fault.ts'
import { shownUrl } from '../../lib/shown-url.ts'
import { harmless } from '../../lib/terminal-text.ts'
import { formatDuration, parseTime } from '../../lib/time.ts'
import { wrongUsage } from '../../lib/usage.ts'
import { DELIVERY_STATES, type DeliveryState } from '../../store/operations/delivery-state.ts'
import type { Store } from '../../store/store.ts'
import { type StoreFlags, storePlaceOf, withExistingStore } from '../open-store.ts'
import { withTemplates } from '../open-templates.ts'
import { databaseOption, dataOption, jsonOption, wholeNumber } from '../options.ts'
import { counted, print, printJson } from '../print.ts'
import { describeDown, readRunningState } from '../running-service.ts'
import { dataFlag, type StorePlace } from '../suggested-commands.ts'
import { printTable, tableLines } from '../table.ts'

type Flags = StoreFlags & { json?: boolean }
type ListFlags = Flags & {
  state?: DeliveryState
  event?: (typeof EVENT_NAMES)[number]
  url?: string
  call?: string
  since?: string
  until?: string
  limit: string
}

const MAX_LISTED = 200
/** Without limits: this process serves no other request meanwhile. */
const WITHOUT_LIMITS = { patienceMs: Number.POSITIVE_INFINITY, maxExamined: Number.POSITIVE_INFINITY }
const withDeliveries = <Result>(
  { data, databaseUrl }: StoreFlags,
  work: (deliveries: DeliveryService, store: Store) => Promise<Result>,
): Promise<Result> =>
  withExistingStore({ data, databaseUrl }, (store) =>
    withTemplates((templates) => work(createDeliveryService({ store, templates, ...WITHOUT_LIMITS }), store)),
  )

/** Adds `hookswitch delivery`: the deliveries of all accounts, for the operator. */
export function deliveryCommand(program: Command): void {
  const delivery = program.command('delivery').description('list, show and retry deliveries')
  delivery
    .command('list')
    .description('list deliveries, newest first')
    .addOption(new Option('--state <state>', 'only deliveries in this state').choices(DELIVERY_STATES))
    .addOption(new Option('--event <name>', 'only deliveries of this event').choices(EVENT_NAMES))
    .option('--url <url>', 'only deliveries to this URL')
    .option('--call <id>', 'only deliveries of this call')
    .option('--since <time>', 'only deliveries created at or after this time (RFC 3339)')
    .option('--until <time>', 'only deliveries created before this time')
    .option('--limit <number>', `the number of deliveries to list, at most ${MAX_LISTED}`, '50')
    .addOption(dataOption())
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action(list)
  delivery
    .command('show')
    .argument('<id>', "the delivery's id")
    .description('show one delivery: its attempts with the responses, and its body')
    .addOption(dataOption())
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action(show)
  delivery
    .command('retry')
    .argument('[id]', "the delivery's id")
    .option('--failed-since <time>', 'all failed deliveries created at or after this time')
    .description('retry one delivery, or all that failed since a time')
    .addOption(dataOption())
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action(retry)
}

async function list({ data, databaseUrl, json, limit, call, ...wanted }: ListFlags): Promise<void> {
  const count = wholeNumber('--limit', limit, { least: 1, most: MAX_LISTED })
  const { state, event, url, since, until } = wanted
  const filter = {
    ...(state === undefined ? {} : { state }),
    ...(event === undefined ? {} : { event }),
    ...(url === undefined ? {} : { url }),
    ...(call === undefined ? {} : { call_id: call }),
    ...(since === undefined ? {} : { since: momentOf('--since', since) }),
    ...(until === undefined ? {} : { until: momentOf('--until', until) }),
  }
  const { items } = await withDeliveries({ data, databaseUrl }, (deliveries) => deliveries.list(null, filter, count))
  if (json) printJson(items)
  else printTable(COLUMNS, items.map(cellsOf), { whenEmpty: 'No delivery matches.' })
}

const COLUMNS = ['id', 'created', 'state', 'event', 'attempts', 'call', 'url']

const cellsOf = ({ id, created_at, state, event, attempts_made, call_id, url }: Delivery) => [
  id,
  created_at,
  state,
  event,
  attempts_made,
  call_id ?? '',
  // --json has it whole, as the API does.
  shownUrl(url),
]

async function show(id: string, { data, databaseUrl, json }: Flags): Promise<void> {
  const detail = await withDeliveries({ data, databaseUrl }, async (deliveries, store) => {
    const found = await known(id, deliveries.show(null, id))
    const because = await pendingBecause(store, found, storePlaceOf({ data, databaseUrl }))
    return because === undefined ? found : { ...found, pending_because: because }
  })
  if (json) printJson(detail)
  else for (const text of lines(detail)) print(text)
}

/** Returns why a delivery is still pending; `undefined` if it is not. */
async function pendingBecause(
  store: Store,
  { id, state, next_attempt_at: nextAt }: Delivery,
  place: StorePlace,
): Promise<string | undefined> {
  const number = state === 'pending' ? readDeliveryId(await openOpaqueIds(store.log)(), id) : undefined
  const pending = number === undefined ? undefined : await store.queue.deliveryGetPending(number)
  if (pending === undefined) return undefined
  const { webhookId } = pending
  const [webhook] = await store.webhooks.webhookGetMany([webhookId])
  const { isRunning, down } = await readRunningState(place, [webhookId])
  const outage = down.get(webhookId)
  const waitMs = ((nextAt === null ? undefined : parseTime(nextAt)) ?? 0) / 1_000 - Date.now()
  if (webhook?.listed === false) return 'its URL has left the list: it is being cancelled'
  if (webhook?.options?.paused) return 'its webhook is paused: hookswitch webhook set URL --no-paused sends it'
  if (!isRunning) return `no service is running: hookswitch serve${dataFlag(place)} sends it`
  if (outage !== undefined)
    return `its webhook has been down ${describeDown(outage)}; one delivery at a time is sent as a probe, the others follow when one succeeds`
  if (waitMs > 0) return `its next attempt is in ${formatDuration(waitMs)}`
  if (webhook?.options?.order === 'strict' || (webhook?.options?.flow ?? null) !== null)
    return `it is due; with ${webhook?.options?.flow == null ? 'order=strict' : 'a flow'} it waits for earlier events of its call`
  return 'it is due, and sent as soon as its webhook has capacity'
}

function lines({ body, attempts, url, ...rest }: DeliveryDetail & { pending_because?: string }): string[] {
  const facts = Object.entries({ ...rest, url: shownUrl(url) })
  const rows = attempts.map(({ at, probe, status, error, duration_ms, address, response, step, url: to }) => [
    at,
    step === undefined ? (probe ? 'probe' : 'attempt') : `${step} ${to == null ? '' : shownUrl(to)}`.trimEnd(),
    status === null ? error : error !== null ? `${status} ${error}` : status,
    `${duration_ms} ms`,
    address,
    response,
  ])
  return [
    ...tableLines(['field', 'value'], facts),
    '',
    ...(rows.length === 0
      ? ['There was no attempt yet.']
      : tableLines(['attempt at', 'kind', 'outcome', 'took', 'address', 'response'], rows)),
    '',
    'BODY',
    harmless(body),
  ]
}

async function retry(id: string | undefined, flags: Flags & { failedSince?: string }): Promise<void> {
  const { data, databaseUrl, json, failedSince } = flags
  if ((id === undefined) === (failedSince === undefined))
    throw wrongUsage('give what to retry: delivery retry ID, or delivery retry --failed-since TIME')
  const queued = await withDeliveries({ data, databaseUrl }, async (deliveries) => {
    if (id === undefined) return deliveries.retryAll(null, { since: momentOf('--failed-since', failedSince ?? '') })
    await known(id, deliveries.retry(null, id))
    return 1
  })
  print(json ? JSON.stringify({ queued }) : `${counted(queued, 'delivery is', 'deliveries are')} retried.`)
}

function momentOf(flag: string, text: string): string {
  if (parseTime(text) === undefined)
    throw wrongUsage(`${flag} is ${JSON.stringify(text)}: give it as 2026-11-20T21:42:00Z`)
  return text
}

/** Adds to a not-found error the id and how to list the ids. */
const known = <Found>(id: string, found: Promise<Found>): Promise<Found> =>
  found.catch((cause) => {
    throw cause instanceof Fault && cause.code === 'not_found'
      ? new Fault('not_found', `there is no delivery ${harmless(id)}: list the ids with hookswitch delivery list`)
      : cause
  })
