import { Elysia, t } from 'elysia'
import { type AuthService, guard } from '../../auth/auth.ts'
import { Call, CallRecord } from '../../events/bodies.ts'
import { DIRECTIONS } from '../../events/enums.ts'
import { readCallRecord } from '../../events/stored-json.ts'
import { accepts } from '../../http/accepts.ts'
import { responses, success } from '../../http/envelope.ts'
import { CURSOR, PAGE_SIZE, PageCursor, PageLimit, readCursor, writeCursor } from '../../http/paging.ts'
import { asks } from '../../http/query.ts'
import { UUID } from '../../lib/api-schema.ts'
import { Fault } from '../../lib/fault.ts'
import { parseTime } from '../../lib/time.ts'
import type { CallFilter } from '../../store/operations/calls.ts'
import type { Store } from '../../store/store.ts'

const about = { tags: ['Calls'], security: [{ bearer: [] }] }

export const CallPage = t.Object({
  items: t.Array(Call, { description: 'The calls, the newest first' }),
  next_cursor: t.Union([t.String({ form: CURSOR }), t.Null()], {
    description: 'The `cursor` of the next page; `null` on the last',
  }),
})

const Params = t.Object({ id: t.String({ description: 'The id of the call', form: UUID }) })

const time = (description: string) => t.Optional(t.String({ format: 'date-time', description }))

const Query = t.Object({
  direction: t.Optional(t.UnionEnum(DIRECTIONS, { default: undefined, description: 'Only calls of this direction' })),
  number: t.Optional(
    t.String({
      minLength: 1,
      maxLength: 256,
      description: 'Only calls from or to this number, as the PBX spells it or in E.164',
    }),
  ),
  since: time('Only calls saved at this time (RFC 3339) or later'),
  until: time('Only calls saved before this time (RFC 3339)'),
  limit: PageLimit,
  cursor: PageCursor,
})

/** Returns the record of a call with the links to its recordings. */
type AddUrls = (record: CallRecord) => Promise<CallRecord>

/** Creates the routes for the call records of the account, ordered by the time when they were saved. */
export function callRoutes(auth: AuthService, calls: Store['calls'], addUrls: AddUrls = async (record) => record) {
  return new Elysia({ name: 'calls', normalize: false })
    .use(accepts)
    .use(guard(auth))
    .get(
      '/call',
      async ({ accountId, query }) => success(await page(calls, accountId, query), 'These are the calls.'),
      {
        ...asks(Query),
        response: responses(CallPage, 'unauthenticated', 'invalid'),
        detail: {
          summary: 'The records of calls, newest first',
          description: 'One page at a time: `next_cursor` leads to the next one.',
          ...about,
        },
      },
    )
    .get(
      '/call/:id',
      async ({ accountId, params }) => {
        const record = await calls.callGet(accountId, params.id)
        if (record === undefined) throw new Fault('not_found', 'There is no record of a call with this id.')
        return success(await addUrls(readCallRecord(record)), 'This is the record of the call.')
      },
      {
        params: Params,
        response: responses(CallRecord, 'unauthenticated', 'not_found'),
        detail: {
          summary: 'The record of one call: the call, its stages and recordings',
          description: 'As of the moment when the call was saved, after its end.',
          ...about,
        },
      },
    )
}

async function page(
  calls: Store['calls'],
  accountId: number,
  query: typeof Query.static,
): Promise<typeof CallPage.static> {
  const limit = query.limit ?? PAGE_SIZE
  const filter: CallFilter = {
    ...(query.direction === undefined ? {} : { direction: query.direction }),
    ...(query.number === undefined ? {} : { number: query.number }),
    sinceUs: query.since === undefined ? undefined : parseTime(query.since),
    untilUs: query.until === undefined ? undefined : parseTime(query.until),
  }
  const rows = await calls.callList({ accountId, filter, limit: limit + 1, after: positionOf(query.cursor) })
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  return {
    items: shown.map((row) => readCallRecord(row.record).call),
    next_cursor: last === undefined ? null : writeCursor([last.savedUs, last.id]),
  }
}

function positionOf(cursor: string | undefined) {
  if (cursor === undefined) return undefined
  const [savedUs, id] = readCursor(cursor, ['number', 'string'])
  return { savedUs: Number(savedUs), id: String(id) }
}
