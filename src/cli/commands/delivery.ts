import { type Command, Option } from 'commander'
import type { Delivery, DeliveryDetail, DeliveryPage } from '../../deliveries/deliveries.ts'
import { EVENT_NAMES } from '../../events/kinds.ts'
import { Fault } from '../../lib/fault.ts'
import { shownUrl } from '../../lib/shown-url.ts'
import { harmless } from '../../lib/terminal-text.ts'
import { formatDuration, parseTime } from '../../lib/time.ts'
import { wrongUsage } from '../../lib/usage.ts'
import { DELIVERY_STATES, type DeliveryState } from '../../store/operations/delivery-state.ts'
import type { WebhookHealth } from '../../web/web.ts'
import type { WebhookOptions } from '../../webhooks/webhooks.ts'
import { momentOf } from '../moment.ts'
import { storePlaceOf } from '../open-store.ts'
import { wholeNumber, withStoreOptions } from '../options.ts'
import { counted, print, printJson } from '../print.ts'
import { type Service, type ServiceFlags, withService } from '../service.ts'
import { dataFlag, type StorePlace } from '../suggested-commands.ts'
import { printTable, tableLines } from '../table.ts'
import { describeOutage } from '../webhook-state.ts'

type Flags = ServiceFlags & { json?: boolean }
type ListFlags = Flags & {
  state?: DeliveryState
  event?: (typeof EVENT_NAMES)[number]
  url?: string
  call?: string
  since?: string
  until?: string
  limit: string
  cursor?: string
}

const MAX_LISTED = 200
/** The operator sees the deliveries of all accounts. */
const ALL = { account: '*' } as const

/** Adds `hookswitch delivery`: the deliveries of all accounts, for the operator. */
export function deliveryCommand(program: Command): void {
  const delivery = program.command('delivery').description('list, show and retry deliveries')
  const listing = delivery
    .command('list')
    .description('list deliveries, newest first')
    .addOption(new Option('--state <state>', 'only deliveries in this state').choices(DELIVERY_STATES))
    .addOption(new Option('--event <name>', 'only deliveries of this event').choices(EVENT_NAMES))
    .option('--url <url>', 'only deliveries to this URL')
    .option('--call <id>', 'only deliveries of this call')
    .option('--since <time>', 'only deliveries created at or after this time (RFC 3339, or how long ago: 7d)')
    .option('--until <time>', 'only deliveries created before this time')
    .option('--limit <number>', `the number of deliveries to list, at most ${MAX_LISTED}`, '50')
    .option('--cursor <cursor>', 'the next_cursor that --json printed before')
  withStoreOptions(listing).action(list)
  const showing = delivery
    .command('show')
    .argument('<id>', "the delivery's id")
    .description('show one delivery: its attempts with the responses, and its body')
  withStoreOptions(showing).action(show)
  const retrying = delivery
    .command('retry')
    .argument('[id]', "the delivery's id")
    .option('--failed-since <time>', 'all failed deliveries created at or after this time')
    .description('retry one delivery, or all that failed since a time')
  withStoreOptions(retrying).action(retry)
}

async function list({ json, limit, call, cursor, ...given }: ListFlags): Promise<void> {
  const count = wholeNumber('--limit', limit, { least: 1, most: MAX_LISTED })
  const { state, event, url, since, until, ...flags } = given
  const query = {
    ...ALL,
    state,
    event,
    url,
    call_id: call,
    since: since && momentOf('--since', since),
    until: until && momentOf('--until', until),
    limit: count,
  }
  const found = await withService(flags, (service) => pageOf(service, query, { cursor, count: json ? 0 : count }))
  if (json) printJson(found)
  else printTable(COLUMNS, found.items.map(cellsOf), { whenEmpty: 'No delivery matches.' })
}

type Query = Readonly<Record<string, string | number | undefined>>

/** Reads a page, and those after it until there are `count`: a page that filters much may be short. */
async function pageOf(
  service: Service,
  query: Query,
  { cursor, count }: { readonly cursor: string | undefined; readonly count: number },
): Promise<DeliveryPage> {
  const items: Delivery[] = []
  let next = cursor
  do {
    const { result } = await service.ask<DeliveryPage>('GET', '/integration/delivery', {
      query: { ...query, cursor: next },
    })
    items.push(...result.items)
    next = result.next_cursor ?? undefined
  } while (next !== undefined && items.length < count)
  return { items: count === 0 ? items : items.slice(0, count), next_cursor: next ?? null }
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

async function show(id: string, { json, ...flags }: Flags): Promise<void> {
  const detail = await withService(flags, async (service) => {
    const path = `/integration/delivery/${encodeURIComponent(id)}`
    const found = await known(id, service.ask<DeliveryDetail>('GET', path, { query: { ...ALL, probes: true } }))
    const because = await pendingBecause(service, found.result, storePlaceOf(flags))
    return because === undefined ? found.result : { ...found.result, pending_because: because }
  })
  if (json) printJson(detail)
  else for (const text of lines(detail)) print(text)
}

/** Returns why a delivery is still pending; `undefined` if it is not. */
async function pendingBecause(
  service: Service,
  { state, url, account, next_attempt_at: nextAt }: Delivery,
  place: StorePlace,
): Promise<string | undefined> {
  if (state !== 'pending') return undefined
  const query = { account }
  const { result: health } = await service.ask<WebhookHealth[]>('GET', '/integration/webhook/health', { query })
  const { result: options } = await service.ask<WebhookOptions[]>('GET', '/integration/webhook/options', { query })
  const webhook = health.find((one) => one.url === url)
  const { order, flow = null } = options.find((one) => one.url === url) ?? {}
  const waitMs = ((nextAt === null ? undefined : parseTime(nextAt)) ?? 0) / 1_000 - Date.now()
  if (webhook === undefined) return 'its URL has left the list: it is being cancelled'
  if (webhook.paused) return 'its webhook is paused: hookswitch webhook set URL --no-paused sends it'
  if (!service.isRunning) return `no service is running: hookswitch serve${dataFlag(place)} sends it`
  if (webhook.down_since !== null)
    return `its webhook has been down ${describeOutage(webhook)}; one delivery at a time is sent as a probe, the others follow when one succeeds`
  if (waitMs > 0) return `its next attempt is in ${formatDuration(waitMs)}`
  if (order === 'strict' || flow !== null)
    return `it is due; with ${flow === null ? 'order=strict' : 'a flow'} it waits for earlier events of its call`
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
  const { json, failedSince, ...place } = flags
  if ((id === undefined) === (failedSince === undefined))
    throw wrongUsage('give what to retry: delivery retry ID, or delivery retry --failed-since TIME')
  const result = await withService(place, async (service) => {
    if (id === undefined) {
      const body = { since: momentOf('--failed-since', failedSince ?? '') }
      return (
        await service.ask<{ readonly queued: number }>('POST', '/integration/delivery/retry', { query: ALL, body })
      ).result
    }
    const path = `/integration/delivery/${encodeURIComponent(id)}/retry`
    return (await known(id, service.ask<Delivery>('POST', path, { query: ALL }))).result
  })
  const queued = 'queued' in result ? result.queued : 1
  if (json) printJson(result)
  else print(`${counted(queued, 'delivery is', 'deliveries are')} retried.`)
}

/** Adds to a not-found error the id and how to list the ids. */
const known = <Found>(id: string, found: Promise<Found>): Promise<Found> =>
  found.catch((cause) => {
    throw cause instanceof Fault && cause.code === 'not_found'
      ? new Fault('not_found', `there is no delivery ${harmless(id)}: list the ids with hookswitch delivery list`)
      : cause
  })
