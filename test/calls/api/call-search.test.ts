import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { countCalls, findCalls } from '../../../src/calls/api/call-search.ts'
import { callRoutes } from '../../../src/calls/api/routes.ts'
import { callFactsOf } from '../../../src/calls/call-facts.ts'
import type { Call, Party, Stage } from '../../../src/events/bodies.ts'
import { EXAMPLES } from '../../../src/events/samples.ts'
import { rfc3339, SECOND } from '../../../src/lib/time.ts'
import type { CallFactsRow, SavedCall } from '../../../src/store/operations/calls.ts'
import { startApi } from '../../help/api.ts'
import { batch } from '../../help/store.ts'
import { ENGINES, type TestStore } from '../../store/engines.ts'

/** The filters of `GET /call` beyond direction and number, its counts, and CSV. */

const START_US = 1_795_213_000 * SECOND

const sample = EXAMPLES.find(({ data }) => data.name === 'call_missed')?.data
if (sample?.name !== 'call_missed') throw new Error('there is an example of a missed call')
const { call: MISSED, stages: RANG } = sample

const outside = (number: string, name: string | null = null): Party => ({
  number,
  name,
  extension: null,
  e164: `+49${number.slice(1)}`,
  contact: null,
})
const phone = (extension: string, name: string): Party => ({
  number: extension,
  name,
  extension,
  e164: null,
  contact: null,
})
const [anna, ben] = [phone('101', 'Anna'), phone('102', 'Ben')]
const group = { ...phone('600', 'Sales'), extension: null }

let seconds = 0
/** Returns a saved call, each a second after the one before. */
function saved(id: string, pbx: string, change: Partial<Call>, stages: readonly Stage[] = []): SavedCall {
  seconds += 1
  const call: Call = { ...MISSED, id, did: null, missed: false, missed_by: [], ...change }
  const record = { call, stages: [...stages], recordings: [] }
  const facts = callFactsOf(pbx, record)
  return {
    id,
    savedUs: START_US + seconds * SECOND,
    direction: call.direction,
    fromNumber: call.from.number,
    toNumber: call.to.number,
    fromE164: call.from.e164,
    toE164: call.to.e164,
    facts,
    record: JSON.stringify({ pbx, who: facts.who, ...record }),
  }
}

const missedBy: Partial<Call> = { to: group, result: 'no_answer', missed: true, missed_by: [ben] }
const outbound = { direction: 'outbound', from: anna } as const
const CALLS = [
  saved('missed', 'office', { ...missedBy, from: outside('0301', 'Jürgen Müller') }, RANG),
  saved('reached later', 'office', { ...missedBy, from: outside('0302') }),
  saved('called again', 'office', { ...missedBy, from: outside('0303') }),
  saved('back', 'office', { ...outbound, to: outside('0302'), result: 'answered', answered_by: outside('0302') }),
  saved('again', 'office', { from: outside('0303', '=1+1'), to: group, result: 'answered', answered_by: ben }),
  saved('in vain', 'branch', { ...outbound, from: phone('1010', 'Dora'), to: outside('0304'), result: 'busy' }),
  saved('message', 'branch', { from: outside('0305', 'Say "hi", x'), to: anna, result: 'voicemail' }),
  saved('inside', 'branch', { direction: 'internal', from: anna, to: ben, result: 'answered', answered_by: ben }),
]
const newestFirst = CALLS.map(({ id }) => id).toReversed()

type Page = {
  items: { id: string; pbx: string | null }[]
  next_cursor: string | null
  counts?: Record<string, number>
}

for (const engine of ENGINES)
  describe.skipIf(engine.missing !== undefined)(`on ${engine.name}`, () => {
    let opened: TestStore
    let api: Awaited<ReturnType<typeof startApi>>
    let [mine, foreign] = ['', '']

    beforeAll(async () => {
      opened = await engine.open()
      const { store } = opened
      api = await startApi(store, (auth) => callRoutes(auth, store))
      mine = await api.logIn('default')
      foreign = await api.logIn('another')
      await store.calls.batchStore(batch({ saved: CALLS }))
    })
    afterAll(async () => {
      await api.stop()
      await opened[Symbol.asyncDispose]()
    })

    const ask = (query: Record<string, string>, accept = 'application/json', token = mine) =>
      fetch(`${api.url}/call?${new URLSearchParams(query)}`, { headers: { authorization: `Bearer ${token}`, accept } })
    async function pageOf(query: Record<string, string>): Promise<Page> {
      const response = await ask(query)
      expect(response.status).toBe(200)
      return (await response.json()).result
    }
    const idsOf = async (query: Record<string, string>) => (await pageOf(query)).items.map(({ id }) => id)

    test.each<[sentence: string, query: Record<string, string>, ids: readonly string[]]>([
      ['of a PBX', { pbx: 'branch' }, ['inside', 'message', 'in vain']],
      ['of a PBX that has none', { pbx: 'nowhere' }, []],
      ['that were missed', { missed: 'true' }, ['called again', 'reached later', 'missed']],
      ['that were not missed', { missed: 'false' }, ['inside', 'message', 'in vain', 'again', 'back']],
      ['with a result', { result: 'voicemail' }, ['message']],
      ['that a person answered at a PBX', { result: 'answered', pbx: 'office' }, ['again', 'back']],
      ['to call back', { to_call_back: 'true' }, ['missed']],
      ['to call back or not', { to_call_back: 'false' }, newestFirst],
      ['to outside that nobody answered', { not_reached: 'true' }, ['in vain']],
      [
        'of an extension that called, was called, or rang',
        { extension: '101' },
        ['inside', 'message', 'back', 'missed'],
      ],
      [
        'of an extension that missed one',
        { extension: '102', missed: 'true' },
        ['called again', 'reached later', 'missed'],
      ],
      ['that name someone, in whichever case', { q: 'jürgen mü' }, ['missed']],
      [
        'with a part of a number',
        { q: '030' },
        ['message', 'in vain', 'again', 'back', 'called again', 'reached later', 'missed'],
      ],
      ['with a part of a number in E.164', { q: '+49302' }, ['back', 'reached later']],
      ['with a text that an SQL pattern would read otherwise', { q: '0_0' }, []],
      ['of a number and a PBX', { number: '+49305', pbx: 'branch' }, ['message']],
      ['of a direction and an extension', { direction: 'outbound', extension: '101' }, ['back']],
      [
        'of a time and a PBX',
        { pbx: 'office', since: rfc3339(START_US + 2 * SECOND), until: rfc3339(START_US + 4 * SECOND) },
        ['called again', 'reached later'],
      ],
    ])('calls %s are listed, newest first', async (_, query, ids) => {
      expect(await idsOf(query)).toEqual([...ids])
    })

    test('the pages of a filter follow one another, and end', async () => {
      const found: string[] = []
      let cursor: string | null = ''
      let pages = 0
      for (; cursor !== null; pages += 1) {
        const page: Page = await pageOf({ pbx: 'office', limit: '2', ...(cursor === '' ? {} : { cursor }) })
        found.push(...page.items.map(({ id }) => id))
        cursor = page.next_cursor
      }
      expect(found).toEqual(['again', 'back', 'called again', 'reached later', 'missed'])
      expect(pages).toBe(3)
    })

    test('a call names its PBX, in the list and by itself', async () => {
      expect((await pageOf({})).items.map(({ pbx }) => pbx)).toEqual([
        'branch',
        'branch',
        'branch',
        'office',
        'office',
        'office',
        'office',
        'office',
      ])
      const response = await fetch(`${api.url}/call/message`, { headers: { authorization: `Bearer ${mine}` } })
      expect((await response.json()).result).toMatchObject({ pbx: 'branch', call: { id: 'message' } })
    })

    test('counts are of all outcomes, whichever of them the list shows, under the other filters', async () => {
      expect((await pageOf({})).counts).toBeUndefined()
      const all = { all: 8, missed: 3, to_call_back: 1, answered: 3, voicemail: 1, not_reached: 1 }
      for (const outcome of [
        {},
        { missed: 'true' },
        { to_call_back: 'true' },
        { not_reached: 'true' },
        { result: 'busy' },
      ])
        expect((await pageOf({ ...outcome, counts: 'true', limit: '1' })).counts).toEqual(all)
      const office = { all: 5, missed: 3, to_call_back: 1, answered: 2, voicemail: 0, not_reached: 0 }
      expect((await pageOf({ pbx: 'office', missed: 'true', counts: 'true' })).counts).toEqual(office)
      const none = { all: 0, missed: 0, to_call_back: 0, answered: 0, voicemail: 0, not_reached: 0 }
      expect((await pageOf({ q: 'nobody', counts: 'true' })).counts).toEqual(none)
    })

    test('another account sees, counts and exports none of them', async () => {
      const { result } = await (await ask({ counts: 'true', to_call_back: 'true' }, undefined, foreign)).json()
      expect([result.items, result.counts.all]).toEqual([[], 0])
      expect((await (await ask({}, 'text/csv', foreign)).text()).split('\r\n')).toHaveLength(2)
    })

    test('the operator of the machine sees those of all accounts together, each with its account', async () => {
      const accountId = (await opened.store.accounts.accountGetId('another')) ?? 0
      const theirs = saved('theirs', 'shop', { from: outside('0306'), result: 'answered', answered_by: ben })
      await opened.store.calls.batchStore(batch({ accountId, saved: [theirs] }))
      const listed = async (query: string, accept = 'application/json') =>
        await api.asOperator(`/call?account=*${query}`, { accept })
      type Listed = Omit<Page, 'items'> & { items: { account: string; id: string }[] }
      const pageOfAll = async (query: string): Promise<Listed> => (await (await listed(query)).json()).result

      const { items, counts } = await pageOfAll('&counts=true')
      expect(items.map(({ account, id }) => `${account} ${id}`)).toEqual([
        'another theirs',
        ...newestFirst.map((id) => `default ${id}`),
      ])
      expect(counts).toEqual({ all: 9, missed: 3, to_call_back: 1, answered: 4, voicemail: 1, not_reached: 1 })
      const { next_cursor } = await pageOfAll('&limit=1')
      const second = await pageOfAll(`&limit=1&result=answered&cursor=${next_cursor}`)
      expect(second.items.map(({ account, id }) => [account, id])).toEqual([['default', 'inside']])

      const [head = '', ...lines] = (await (await listed('&result=answered', 'text/csv')).text()).split('\r\n')
      expect(head).toStartWith('account,pbx,call_id,')
      expect(lines.map((line) => line.split(',').slice(0, 3).join(' '))).toEqual([
        'another shop theirs',
        'default branch inside',
        'default office again',
        'default office back',
        '',
      ])
      expect((await listed('&limit=0')).status).toBe(422)
      expect((await api.asOperator('/call/theirs?account=*')).status).toBe(404)
      const own = await (await ask({ account: '*' }, undefined, foreign)).json()
      expect(own.result.items.map(({ id }: { id: string }) => id)).toEqual(['theirs'])
    })

    test('CSV has all calls that match, whatever the limit, with the names of the columns first', async () => {
      const response = await ask({ pbx: 'office', limit: '1' }, 'text/csv')
      expect([response.status, response.headers.get('content-type')]).toEqual([
        200,
        'text/csv; charset=utf-8; header=present',
      ])
      const [head = '', ...lines] = (await response.text()).split('\r\n')
      expect(head).toStartWith('pbx,call_id,call_pbx_id,')
      expect(head.split(',')).toEqual(expect.arrayContaining(['call_from_number', 'call_to_name', 'call_hangup_cause']))
      expect(lines.map((line) => line.split(',').slice(0, 2).join(' '))).toEqual([
        'office again',
        'office back',
        'office called again',
        'office reached later',
        'office missed',
        '',
      ])
    })

    test('a cell of CSV is quoted if it has to be, and no spreadsheet computes a name; numbers stay as they are', async () => {
      const text = await (await ask({}, 'text/csv')).text()
      expect(text).toContain(',"Say ""hi"", x",')
      expect(text).toContain(",'=1+1,")
      expect(text).toContain(',+49303,')
    })

    test('a client that wants neither JSON nor CSV gets 406, and one that takes both gets CSV', async () => {
      expect((await ask({}, 'text/html')).status).toBe(406)
      expect((await ask({}, 'text/csv, application/json;q=0.5')).headers.get('content-type')).toStartWith('text/csv')
      expect((await ask({}, '*/*')).headers.get('content-type')).toStartWith('application/json')
    })

    test.each([
      ['q', 'x'],
      ['missed', 'yes'],
      ['result', 'lost'],
      ['counts', '1'],
      ['extension', ''],
    ])('%s=%s is refused: 422', async (name, value) => {
      for (const accept of ['application/json', 'text/csv']) {
        const response = await ask({ [name]: value }, accept)
        const { result } = await response.json()
        expect([response.status, result.errors.map(({ path }: { path: string }) => path)]).toEqual([422, [`/${name}`]])
      }
    })

    test('the facts of a call that a node of an earlier version saved are read from its record', async () => {
      const { calls } = opened.store
      const callScan = async (scan: Parameters<typeof calls.callScan>[0]): Promise<CallFactsRow[]> =>
        (await calls.callScan(scan)).map((row) => ({ ...row, pbx: null, result: null, missed: false, who: null }))
      const query = { accountId: 1, after: undefined, limit: 9 }
      const ids = async (search: Parameters<typeof findCalls>[1]['search']) =>
        (await findCalls({ ...calls, callScan }, { ...query, search })).found.map(({ id }) => id)
      expect(await ids({ pbx: 'office', missed: true, extension: '101' })).toEqual(['missed'])
      expect(await ids({ toCallBack: true })).toEqual(['missed'])
      const callCount = async (scan: Parameters<typeof calls.callCount>[0]) => {
        const { counts, next } = await calls.callCount(scan)
        const lacking = { pbx: null, result: null, missed: false, missedIds: [], lacksFacts: true }
        return { counts: counts.map((one) => ({ ...one, ...lacking })), next }
      }
      for (const search of [{}, { pbx: 'office' }, { extension: '101' }])
        expect(await countCalls({ ...calls, callScan, callCount }, 1, search)).toEqual(
          await countCalls(calls, 1, search),
        )
    })
  })

test('the store counts a long history in parts, and no call is read', async () => {
  const inbound = { direction: 'inbound', pbx: 'office', result: 'answered', missed: false } as const
  const rest = { lacksFacts: false, missedIds: [] }
  const parts = [
    [{ ...inbound, ...rest, count: 4_000 }],
    [
      { ...inbound, ...rest, count: 3_998 },
      { ...inbound, ...rest, result: 'no_answer', missed: true, count: 2, missedIds: ['a', 'b'] },
    ],
    [
      { ...inbound, ...rest, pbx: 'other', count: 5 },
      { ...inbound, ...rest, direction: 'outbound', result: 'busy', count: 7 } as const,
    ],
  ]
  const asked: (string | undefined)[] = []
  const calls = {
    callScan: () => Promise.reject(new Error('a call is read')),
    callGetMany: () => Promise.reject(new Error('a record is read')),
    callListToCallBack: async ({ ids }: { ids: readonly string[] }) => ids.slice(1),
    async callCount({ after }: { after: { id: string } | undefined }) {
      asked.push(after?.id)
      const counts = parts[asked.length - 1] ?? []
      return { counts, next: asked.length < parts.length ? { savedUs: 1, id: `end of ${asked.length}` } : null }
    },
  }
  const counts = { all: 8_007, missed: 2, to_call_back: 1, answered: 7_998, voicemail: 0, not_reached: 7 }
  expect(await countCalls(calls, 1, { pbx: 'office' })).toEqual(counts)
  expect(asked).toEqual([undefined, 'end of 1', 'end of 2'])
})

test('a page looks at 20,000 calls at most: then it is shorter, and the next one goes on behind them', async () => {
  const CALLS_STORED = 50_000
  const place = ({ id }: { id: string }) => CALLS_STORED - Number(id)
  const row = (at: number): CallFactsRow => {
    const id = String(CALLS_STORED - at)
    const isOldest = at === CALLS_STORED - 1
    return {
      id,
      savedUs: CALLS_STORED - at,
      direction: 'inbound',
      pbx: isOldest ? 'old' : 'new',
      result: null,
      missed: false,
      who: '',
    }
  }
  let read = 0
  const calls = {
    async callScan({ after, limit }: { after: { id: string } | undefined; limit: number }) {
      const first = after === undefined ? 0 : place(after) + 1
      const rows = Array.from({ length: Math.min(limit, CALLS_STORED - first) }, (_, at) => row(first + at))
      read += rows.length
      return rows
    },
    callGetMany: async () => [],
    callListToCallBack: async () => [],
  }
  const pages: (readonly string[])[] = []
  let after: { savedUs: number; id: string } | undefined
  do {
    read = 0
    const { found, next } = await findCalls(calls, { accountId: 1, search: { pbx: 'old' }, after, limit: 50 })
    expect(read).toBeLessThanOrEqual(20_000)
    pages.push(found.map(({ id }) => id))
    after = next ?? undefined
  } while (after !== undefined)
  expect(pages).toEqual([[], [], ['1']])
})
