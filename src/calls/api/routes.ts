import { Type } from '@sinclair/typebox'
import { Elysia, t } from 'elysia'
import { type AuthService, guard, popScopeGuard } from '../../auth/auth.ts'
import { Call, CallRecord } from '../../events/bodies.ts'
import { CALL_RESULTS, DIRECTIONS } from '../../events/enums.ts'
import { readCallRecord, readPbx } from '../../events/stored-json.ts'
import { accepts, acceptsAlso } from '../../http/accepts.ts'
import { responses, success } from '../../http/envelope.ts'
import { CURSOR, PAGE_SIZE, PageCursor, PageLimit, readCursor, writeCursor } from '../../http/paging.ts'
import { asks } from '../../http/query.ts'
import { described, named, UUID } from '../../lib/api-schema.ts'
import { Fault } from '../../lib/fault.ts'
import { nextTurn } from '../../lib/slices.ts'
import { parseTime } from '../../lib/time.ts'
import type { AccountRecord } from '../../store/operations/accounts.ts'
import type { CallFilter, CallPosition, CallRow } from '../../store/operations/calls.ts'
import type { Store } from '../../store/store.ts'
import { csvHead, csvOf } from './call-csv.ts'
import { type CallSearch, countCalls, findAllCalls, findCalls, MAX_COUNTED } from './call-search.ts'
import { findCallsOfAll } from './call-search-of-all.ts'
import { popCalls, popQuery } from './pop-calls.ts'

const JSON_HEADERS = { 'content-type': 'application/json' }
/** Records have some kilobytes each: reading more at once would hold up others. */
const CSV_AT_ONCE = 25

const about = { tags: ['Calls'], security: [{ bearer: [] }] }

const pbx = t.Union([t.String(), t.Null()], {
  description: 'The name of the PBX; `null` for a call that an earlier version saved',
})

/** A call of the list. */
const ListedCall = named('ListedCall', t.Object({ pbx, ...Call.properties }, { additionalProperties: false }))

/** The record of a call, with its PBX. */
export const FoundCall = named(
  'FoundCall',
  t.Object({ pbx, ...CallRecord.properties }, { additionalProperties: false }),
)

const count = (description: string) => Type.Integer({ minimum: 0, maximum: MAX_COUNTED, description })

const CallCounts = named(
  'CallCounts',
  t.Object(
    {
      all: count('All calls'),
      missed: count('Missed calls'),
      to_call_back: count(
        'Missed calls whose number has neither been reached since, nor has called again and been answered',
      ),
      answered: count('Calls that a person answered'),
      voicemail: count('Calls that voicemail answered'),
      not_reached: count('Outbound calls that nobody answered'),
    },
    {
      description:
        'How many calls there are under all filters but `missed`, `result`, `to_call_back` and `not_reached`; 10000 means "or more"',
    },
  ),
)

export const CallPage = named(
  'CallPage',
  t.Object({
    items: t.Array(ListedCall, { description: 'The calls, the newest first' }),
    next_cursor: t.Union([t.String({ form: CURSOR }), t.Null()], {
      description: 'The `cursor` of the next page; `null` on the last',
    }),
    counts: t.Optional(described(CallCounts, 'With `counts=true`: how many calls have each outcome')),
  }),
)

const Params = t.Object({ id: t.String({ description: 'The id of the call', form: UUID }) })

const time = (description: string) => t.Optional(t.String({ format: 'date-time', description }))

const yes = (description: string) => t.Optional(t.UnionEnum(['true', 'false'], { default: undefined, description }))

const Query = t.Object({
  direction: t.Optional(t.UnionEnum(DIRECTIONS, { default: undefined, description: 'Only calls of this direction' })),
  number: t.Optional(
    t.String({
      minLength: 1,
      maxLength: 256,
      description: 'Only calls from or to this number, as the PBX spells it or in E.164',
    }),
  ),
  pbx: t.Optional(t.String({ minLength: 1, maxLength: 256, description: 'Only calls of the PBX with this name' })),
  missed: yes('Only missed calls; `false`: only others'),
  result: t.Optional(t.UnionEnum(CALL_RESULTS, { default: undefined, description: 'Only calls with this result' })),
  extension: t.Optional(
    t.String({ minLength: 1, maxLength: 64, description: 'Only calls in which this extension took part or rang' }),
  ),
  q: t.Optional(
    t.String({
      minLength: 2,
      maxLength: 100,
      description: 'Only calls with a number, name or extension that contains this, in whichever case',
    }),
  ),
  to_call_back: yes(
    'Only missed calls whose number has neither been reached by a call from inside since, nor has called again and been answered',
  ),
  not_reached: yes('Only outbound calls that nobody answered'),
  counts: yes('Adds `counts`'),
  since: time('Only calls saved at this time (RFC 3339) or later'),
  until: time('Only calls saved before this time (RFC 3339)'),
  limit: PageLimit,
  cursor: PageCursor,
})

type AddUrls = (record: CallRecord) => Promise<CallRecord>

type Calls = Store['calls']
type Sources = Pick<Store, 'calls' | 'accounts'>

/** Creates the routes for the call records of the account, ordered by the time when they were saved. */
export function callRoutes(auth: AuthService, store: Sources, addUrls: AddUrls = async (record) => record) {
  return new Elysia({ name: 'calls', normalize: false })
    .use(callListRoute(auth, store))
    .use(callRecordRoute(auth, store, addUrls))
}

const callListRoute = (auth: AuthService, store: Sources) =>
  new Elysia({ name: 'call list', normalize: false })
    .use(acceptsAlso('text/csv'))
    .use(popScopeGuard(auth))
    .get(
      '/call',
      async ({ accountId, session, scope, query, headers, request, server }) => {
        if (session.pop) {
          const rows = await popCalls(store.calls, { ...popQuery(query), accountId, extension: session.extension })
          const last: Page = { items: rows.map(listedCall), next_cursor: null }
          return Response.json(success(last, 'These are the last calls with the number.'), { headers: JSON_HEADERS })
        }
        if (wantsCsv(headers.accept)) return csvResponse(store, scope, query)
        // All calls are read, in small parts.
        if (query.counts === 'true' || scope === null) server?.timeout(request, COUNTED_WITHIN_S)
        const found = scope === null ? await pageOfAll(store, query) : await page(store.calls, scope, query)
        return Response.json(success(found, 'These are the calls.'), { headers: JSON_HEADERS })
      },
      {
        ...asks(Query),
        response: responses(CallPage, 'unauthenticated', 'invalid'),
        detail: {
          summary: 'The records of calls, newest first; with filters and counts, or as CSV',
          description:
            'One page at a time: `next_cursor` leads to the next one. A page of a filter looks at 20,000 calls at most: it may be ' +
            'shorter than `limit` although `next_cursor` goes on. With `Accept: text/csv` all calls that match are sent, whatever ' +
            '`limit` and `cursor`: a line of names, then a line for each call, with the columns of the body `flat`. A token for the ' +
            'pop page gets the last three calls with a `number`, and no other filter.',
          ...about,
        },
      },
    )

const callRecordRoute = (auth: AuthService, { calls }: Sources, addUrls: AddUrls) =>
  new Elysia({ name: 'call record', normalize: false })
    .use(accepts)
    .use(guard(auth))
    .get(
      '/call/:id',
      async ({ accountId, params }) => {
        const stored = await calls.callGet(accountId, params.id)
        if (stored === undefined) throw new Fault('not_found', 'There is no record of a call with this id.')
        const record = await addUrls(readCallRecord(stored))
        return success({ pbx: readPbx(stored), ...record }, 'This is the record of the call.')
      },
      {
        params: Params,
        response: responses(FoundCall, 'unauthenticated', 'not_found'),
        detail: {
          summary: 'The record of one call: the call, its stages and recordings',
          description: 'As of the moment when the call was saved, after its end.',
          ...about,
        },
      },
    )

/**
 * A request may be silent for 10 s by default. Counting takes 10 s for 300,000 calls on Postgres, and less than one
 * for a million on SQLite.
 */
const COUNTED_WITHIN_S = 120

type Asked = typeof Query.static

async function page(calls: Calls, accountId: number, query: Asked): Promise<typeof CallPage.static> {
  const search = searchOf(query)
  const limit = query.limit ?? PAGE_SIZE
  const found = await (isSimple(search)
    ? listed(calls, accountId, query, limit)
    : searched(calls, accountId, query, limit))
  const counts = query.counts === 'true' ? { counts: await countCalls(calls, accountId, search) } : {}
  return { ...found, ...counts }
}

type Page = Pick<typeof CallPage.static, 'items' | 'next_cursor'>

/** Returns a page of a filter that the indexes of the store answer: they contain nothing else. */
async function listed(calls: Calls, accountId: number, query: Asked, limit: number): Promise<Page> {
  const { direction, number, sinceUs, untilUs } = searchOf(query)
  const filter: CallFilter = {
    ...(direction === undefined ? {} : { direction }),
    ...(number === undefined ? {} : { number }),
    sinceUs,
    untilUs,
  }
  const rows = await calls.callList({ accountId, filter, limit: limit + 1, after: positionOf(query.cursor) })
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  return { items: shown.map(listedCall), next_cursor: last === undefined ? null : writeCursor([last.savedUs, last.id]) }
}

/** Returns a page of any other filter. */
async function searched(calls: Calls, accountId: number, query: Asked, limit: number): Promise<Page> {
  const after = positionOf(query.cursor)
  const { found, next } = await findCalls(calls, { accountId, search: searchOf(query), after, limit })
  const rows = await calls.callGetMany({ accountId, ids: found.map(({ id }) => id) })
  return { items: rows.map(listedCall), next_cursor: next === null ? null : writeCursor([next.savedUs, next.id]) }
}

/** Returns a page of the calls of all accounts, each with its account. */
async function pageOfAll(store: Sources, query: Asked) {
  const accounts = await store.accounts.accountList()
  const search = searchOf(query)
  const after = positionOf(query.cursor)
  const { rows, next } = await readPageOfAll(store.calls, { accounts, search, after, limit: query.limit ?? PAGE_SIZE })
  const items = rows.map(({ account, ...row }) => ({ account, ...listedCall(row) }))
  const found = { items, next_cursor: next === null ? null : writeCursor([next.savedUs, next.id]) }
  if (query.counts !== 'true') return found
  const counted: CallCounts[] = []
  for (const { id } of accounts) counted.push(await countCalls(store.calls, id, search))
  return { ...found, counts: sumOf(counted) }
}

type PageOfAll = Omit<Parameters<typeof findCallsOfAll>[1], 'accountIds'> & {
  readonly accounts: readonly AccountRecord[]
}

async function readPageOfAll(calls: Calls, { accounts, ...query }: PageOfAll) {
  const { found, next } = await findCallsOfAll(calls, { accountIds: accounts.map(({ id }) => id), ...query })
  const names = new Map(accounts.map(({ id, name }) => [id, name]))
  const byId = new Map<string, CallRow & { readonly account: string }>()
  for (const [accountId, ofAccount] of Map.groupBy(found, (call) => call.accountId)) {
    const rows = await calls.callGetMany({ accountId, ids: ofAccount.map(({ id }) => id) })
    for (const row of rows) byId.set(row.id, { ...row, account: names.get(accountId) ?? '' })
  }
  return { rows: found.flatMap(({ id }) => byId.get(id) ?? []), next }
}

type CallCounts = Awaited<ReturnType<typeof countCalls>>

/** Returns the sums of counts, up to the number that means "or more". */
function sumOf(counted: readonly CallCounts[]): CallCounts {
  const sum = { all: 0, missed: 0, to_call_back: 0, answered: 0, voicemail: 0, not_reached: 0 }
  for (const name of Object.keys(sum) as (keyof typeof sum)[])
    sum[name] = Math.min(
      MAX_COUNTED,
      counted.reduce((total, counts) => total + counts[name], 0),
    )
  return sum
}

const listedCall = ({ record }: CallRow): typeof ListedCall.static => ({
  pbx: readPbx(record),
  ...readCallRecord(record).call,
})

const isTrue = (text: 'true' | 'false' | undefined): boolean | undefined =>
  text === undefined ? undefined : text === 'true'

function searchOf(query: Asked): CallSearch {
  const { direction, number, pbx: ofPbx, result, extension, q } = query
  return {
    direction,
    number,
    pbx: ofPbx,
    result,
    extension,
    q,
    missed: isTrue(query.missed),
    // `false` asks for nothing.
    toCallBack: query.to_call_back === 'true' ? true : undefined,
    notReached: query.not_reached === 'true' ? true : undefined,
    sinceUs: query.since === undefined ? undefined : parseTime(query.since),
    untilUs: query.until === undefined ? undefined : parseTime(query.until),
  }
}

/** Returns whether the indexes of the store answer a filter. */
const isSimple = ({ pbx: ofPbx, missed, result, extension, q, toCallBack, notReached }: CallSearch): boolean =>
  [ofPbx, missed, result, extension, q, toCallBack, notReached].every((one) => one === undefined)

/** A client that takes both, JSON first, gets JSON. */
const wantsCsv = (accept: string | undefined): boolean =>
  /^(?:(?!application\/json).)*\btext\/csv\b/i.test(accept ?? '')

/** Sends all calls that match, a part at a time, as fast as the client reads. */
function csvResponse(store: Sources, scope: number | null, query: Asked): Response {
  const lines = scope === null ? csvOfAll(store, query) : csvOfAccount(store.calls, scope, query)
  const headers = { 'content-type': 'text/csv; charset=utf-8; header=present', 'cache-control': 'no-store' }
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await lines.next()
      if (next.done === true) controller.close()
      else controller.enqueue(encoder.encode(next.value))
    },
    cancel: () => void lines.return(undefined),
  })
  return new Response(body, { headers })
}

async function* csvOfAccount(calls: Calls, accountId: number, query: Asked): AsyncGenerator<string> {
  yield csvHead(['pbx'])
  for await (const ids of findAllCalls(calls, { accountId, search: searchOf(query) })) {
    for (let at = 0; at < ids.length; at += CSV_AT_ONCE) {
      const rows = await calls.callGetMany({ accountId, ids: ids.slice(at, at + CSV_AT_ONCE) })
      yield rows.map(({ record }) => csvOf([readPbx(record) ?? ''], readCallRecord(record).call)).join('')
      await nextTurn()
    }
  }
}

async function* csvOfAll({ calls, accounts: { accountList } }: Sources, query: Asked): AsyncGenerator<string> {
  yield csvHead(['account', 'pbx'])
  const search = searchOf(query)
  const accounts = await accountList()
  for (let after: CallPosition | undefined; ; ) {
    const { rows, next } = await readPageOfAll(calls, { accounts, search, after, limit: CSV_AT_ONCE })
    yield rows
      .map(({ account, record }) => csvOf([account, readPbx(record) ?? ''], readCallRecord(record).call))
      .join('')
    if (next === null) return
    after = next
    await nextTurn()
  }
}

function positionOf(cursor: string | undefined) {
  if (cursor === undefined) return undefined
  const [savedUs, id] = readCursor(cursor, ['number', 'string'])
  return { savedUs: Number(savedUs), id: String(id) }
}
