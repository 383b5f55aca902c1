import { type CallBatch, NOT_STORED, type PlacedEvent } from '../operations/calls.ts'
import { type Fence, LeaseLost } from '../operations/cluster.ts'
import { DELIVERIES_PER_EVENT } from '../operations/queue.ts'
import type { RecordingRecord } from '../operations/recordings.ts'
import { bigints, type Client, ints, type Query, retryConflicts, texts, type Value } from './engine/client.ts'
import type { Database } from './engine/database.ts'
import { fenceValues, lostLeasesSql } from './engine/fence.ts'
import { type GroupCommit, groupCommit } from './engine/group-commit.ts'
import { createPartitions, partitionOf } from './engine/partitions.ts'
import { codeOf, isBroken, isUnsent } from './engine/store-fault.ts'
import { openTurns, TURN } from './engine/turn.ts'
import { newListCache } from './list-cache.ts'

/**
 * A part of a statement that most commits do not need: even without rows it would cost them time. It is made of the
 * number of its first parameter and the condition that the lease of a job is not lost.
 */
type Part = (first: number, notLost: (job: string) => string) => string

/** Stores recordings: jobs (int[]) and their JSON (text[]). A recording that is not pending is not changed. */
const RECORDED: Part = (first, notLost) => `
recorded AS (
  INSERT INTO recordings (call_id, id, account_id, pbx, path, state, since, sequence, error, size, stamp, sha256, media_type, copy)
  SELECT o.j->>'callId', o.j->>'id', (o.j->>'accountId')::bigint, o.j->>'pbx', o.j->>'path', o.j->>'state',
    (o.j->>'sinceUs')::bigint, (o.j->>'sequence')::int, o.j->>'error', (o.j->>'sizeBytes')::bigint, o.j->>'stamp', o.j->>'sha256',
    o.j->>'mediaType', o.j->>'copy'
  FROM unnest($${first}::int[], $${first + 1}::text[]) AS r(job, row)
    CROSS JOIN LATERAL (SELECT r.row::json AS j) AS o WHERE ${notLost('r.job')}
  ON CONFLICT (call_id, id) DO UPDATE SET state = excluded.state, error = excluded.error, size = excluded.size,
    stamp = excluded.stamp, sha256 = excluded.sha256, media_type = excluded.media_type, copy = excluded.copy
  WHERE recordings.state = 'pending'),`

/**
 * Stores the states of phones, trunks, agents and queues: jobs (int[]), PBXs, ids and states (text[]). Those without a
 * state are removed.
 */
const SUBJECTS: Part = (first, notLost) => {
  const rows = `unnest($${first}::int[], $${first + 1}::text[], $${first + 2}::text[], $${first + 3}::text[])
    AS s(job, pbx, id, state)`
  return `
known AS (
  INSERT INTO subject_states (pbx, id, state) SELECT s.pbx, s.id, s.state FROM ${rows} WHERE s.state IS NOT NULL AND ${notLost('s.job')}
  ON CONFLICT (pbx, id) DO UPDATE SET state = excluded.state),
forgotten AS (
  DELETE FROM subject_states c USING ${rows} WHERE s.state IS NULL AND c.pbx = s.pbx AND c.id = s.id AND ${notLost('s.job')}),`
}

/** Stores the records of calls: jobs (int[]), ids, columns (JSON) and records (text[]). */
const SAVED: Part = (first, notLost) => `
saved AS (
  INSERT INTO calls (id, account_id, saved_at, direction, from_number, to_number, from_e164, to_e164, pbx, result, missed, who, record)
  SELECT r.call->>0, (r.call->>1)::bigint, (r.call->>2)::bigint, r.call->>3, r.call->>4, r.call->>5,
    r.call->>6, r.call->>7, r.call->>8, r.call->>9, (r.call->>10)::boolean, r.call->>11, r.record
  FROM unnest($${first}::int[], $${first + 1}::text[], $${first + 2}::text[], $${first + 3}::text[]) AS s(job, id, columns, record)
    CROSS JOIN LATERAL (SELECT s.columns::json AS call, s.record AS record) AS r WHERE ${notLost('s.job')}
  ON CONFLICT (id) DO UPDATE SET account_id = excluded.account_id, saved_at = excluded.saved_at,
    direction = excluded.direction, from_number = excluded.from_number, to_number = excluded.to_number,
    from_e164 = excluded.from_e164, to_e164 = excluded.to_e164, pbx = excluded.pbx, result = excluded.result,
    missed = excluded.missed, who = excluded.who, record = excluded.record),`

/** Deletes the live calls that are over: jobs (int[]), PBXs and ids (text[]). */
const OVER: Part = (first, notLost) => `
over AS (
  DELETE FROM live_calls c USING unnest($${first}::int[], $${first + 1}::text[], $${first + 2}::text[]) AS l(job, pbx, id)
  WHERE c.pbx = l.pbx AND c.id = l.id AND ${notLost('l.job')}),`

type EventJob = { readonly batch: CallBatch; readonly fence?: Fence | undefined }

const REFUSED = 'HS001'
const TURN_TAKEN = 'the turn is taken'
const LIST_CHANGED = 'a list was changed'
const HISTORY_ENDED = 'another history begins'
const NO_PARTITION = '23514'

/** Live calls with their new state. */
const LIVE = 'unnest($17::int[], $18::text[], $19::text[], $20::text[]) AS l(job, pbx, id, state)'
const FIRST_OF_PARTS = 21

/** The parts, and the number of the parameters of each. */
const PARTS = {
  over: { part: OVER, parameters: 3 },
  saved: { part: SAVED, parameters: 4 },
  recordings: { part: RECORDED, parameters: 2 },
  subjects: { part: SUBJECTS, parameters: 4 },
} as const
const PART_NAMES = ['over', 'saved', 'recordings', 'subjects'] as const satisfies readonly (keyof typeof PARTS)[]
type PartName = (typeof PART_NAMES)[number]

/**
 * Stores batches with one statement. Ids are drawn after all rows of accounts are locked, in the order of their ids.
 * The statement is refused, and sent again, if a webhook list has changed since it was read. It is also refused in a
 * run of the database that has no history yet: the next event might get an id that a lost event had before a restore or
 * a failover. The fence's parameters come before the parameters of the parts.
 */
function statementOf(isFenced: boolean, parts: readonly PartName[]): string {
  const notLost = (job: string) => (isFenced ? `${job} NOT IN (SELECT job FROM lost)` : 'TRUE')
  // Leases are locked before accounts, which everybody locks, so that accounts are locked as briefly as possible.
  const first = isFenced ? 'AND (SELECT count(*) FROM lost) >= 0' : ''
  let next = isFenced ? FIRST_OF_PARTS + 3 : FIRST_OF_PARTS
  const texts = parts.map((name) => {
    const { part, parameters } = PARTS[name]
    next += parameters
    return part(next - parameters, notLost)
  })
  return `
WITH turn AS (${TURN}),
${isFenced ? `${lostLeasesSql(FIRST_OF_PARTS)},` : ''}
locked AS MATERIALIZED (
  SELECT id, list_version FROM accounts WHERE id = ANY($3::bigint[]) ${first} ORDER BY id FOR NO KEY UPDATE),
numbered AS MATERIALIZED (
  SELECT nextval('event_ids') AS id, i.* FROM (
    SELECT e.* FROM unnest($5::int[], $6::bigint[], $7::text[], $8::text[], $9::text[], $10::int[], $11::bigint[], $12::text[], $13::bigint[])
      WITH ORDINALITY AS e(job, account_id, uuid, call_id, name, sequence, at, body, since, place)
    JOIN locked ON locked.id = e.account_id WHERE ${notLost('e.job')} ORDER BY e.place) AS i),
stored AS (
  INSERT INTO events (id, account_id, uuid, call_id, name, sequence, at, body)
  SELECT id, account_id, uuid, call_id, name, sequence, at, body FROM numbered),
queued AS (
  INSERT INTO pending_deliveries (id, account_id, webhook_id, since, created_at)
  SELECT n.id * ${DELIVERIES_PER_EVENT} + d.nth, n.account_id, d.webhook_id, n.since, n.since + (SELECT stepped FROM clock)
  FROM unnest($14::int[], $15::int[], $16::bigint[]) AS d(place, nth, webhook_id) JOIN numbered n ON n.place = d.place),
${texts.join('')}
changed AS (
  UPDATE live_calls c SET state = l.state FROM ${LIVE}
  WHERE c.pbx = l.pbx AND c.id = l.id AND ${notLost('l.job')} RETURNING c.pbx, c.id),
begun AS (
  INSERT INTO live_calls (pbx, id, state) SELECT l.pbx, l.id, l.state FROM ${LIVE}
  WHERE (l.pbx, l.id) NOT IN (SELECT pbx, id FROM changed) AND ${notLost('l.job')}
  ON CONFLICT (pbx, id) DO UPDATE SET state = excluded.state)
SELECT NULL::int AS place, NULL::bigint AS id, NULL::int AS job, NULL AS lease,
  CASE WHEN NOT EXISTS (SELECT 1 FROM turn) THEN hookswitch_refuse('${TURN_TAKEN}')
    WHEN EXISTS (SELECT 1 FROM unnest($3::bigint[], $4::bigint[]) AS x(id, version)
      LEFT JOIN locked l ON l.id = x.id WHERE l.list_version IS DISTINCT FROM x.version)
    THEN hookswitch_refuse('${LIST_CHANGED}')
    WHEN (SELECT run FROM event_histories ORDER BY began_at DESC LIMIT 1) IS DISTINCT FROM hookswitch_run()
    THEN hookswitch_refuse('${HISTORY_ENDED}') END AS refused
UNION ALL SELECT place::int, id, NULL, NULL, NULL FROM numbered
${isFenced ? 'UNION ALL SELECT NULL, NULL, job, name, NULL FROM lost' : ''}`
}

/** The statements that were needed so far, by their parts: each connection prepares them once. */
const statements = new Map<string, string>()

function statementWith(isFenced: boolean, parts: readonly PartName[]): string {
  const key = `${isFenced} ${parts.join()}`
  const known = statements.get(key)
  if (known !== undefined) return known
  const text = statementOf(isFenced, parts)
  statements.set(key, text)
  return text
}

type Answer = { place: number | null; id: number; job: number | null; lease: string | null }

/** `places`: positions of the sent events within all events of the jobs. */
type Stored = {
  readonly answer: readonly Answer[]
  readonly places: readonly number[]
  readonly webhookIds: readonly (readonly number[])[]
}

/** Opens the group commit of events and of everything else in a PBX's batch. */
export function openEventCommits(db: Database): GroupCommit<EventJob, PlacedEvent[]> {
  const { events: client, writer } = db
  const lists = newListCache(client.read)
  // Versions of one history mean nothing in another.
  db.onReplaced(lists.forgetAll)
  const turns = openTurns(client.query, writer)
  /** Events without an answer, until it is known whether they were stored. */
  let unanswered: readonly EventJob[] = []
  /** Events that were stored although no answer came: if one is given again, it gets its places. */
  const made = new WeakSet<CallBatch>()

  async function resolveDoubt(): Promise<void> {
    if (await turns.resolveDoubt()) for (const { batch } of unanswered) made.add(batch)
    unanswered = []
  }

  async function send(jobs: readonly EventJob[]): Promise<Stored> {
    const isFenced = jobs.some(({ fence }) => fence !== undefined)
    const { live, ...parts } = callRows(jobs)
    const present = PART_NAMES.filter((name) => parts[name].length > 0)
    const text = statementWith(isFenced, present)
    const callValues = [
      ...liveValues(live),
      ...(isFenced ? fenceValues(jobs) : []),
      ...present.flatMap((name) => VALUES[name](parts)),
    ]
    const events = eventsOf(jobs)
    const accountIds = [...new Set(events.map(({ accountId }) => accountId))]
    for (;;) {
      const versions = await lists.load(accountIds)
      const wanted = events.flatMap((event, place) => {
        const ids = lists.webhookIdsFor(event)
        return ids === null ? [] : { event, place, ids }
      })
      const webhookIds = wanted.map(({ ids }) => ids)
      const values = [
        writer,
        await turns.next(),
        bigints(accountIds),
        bigints(versions),
        ...eventValues(wanted.map(({ event }) => event)),
        ...deliveryValues(webhookIds),
        ...callValues,
      ]
      try {
        const answer = await retryConflicts(() => client.query<Answer>(text, values))
        turns.isMade()
        return { answer, places: wanted.map(({ place }) => place), webhookIds }
      } catch (error) {
        const code = codeOf(error)
        if (code === NO_PARTITION) await addPartitions(client)
        else if (code !== REFUSED) {
          if (isBroken(error) && !isUnsent(error)) {
            turns.isInDoubt()
            unanswered = jobs
          }
          throw error
        } else if (String(error).includes(TURN_TAKEN)) turns.reset()
        else if (String(error).includes(HISTORY_ENDED)) await beginHistory(client)
        else lists.forget(accountIds)
      }
    }
  }

  async function write(jobs: readonly EventJob[]): Promise<(PlacedEvent[] | Error)[]> {
    await resolveDoubt()
    const known = jobs.filter(({ batch }) => made.has(batch))
    const fresh = jobs.filter(({ batch }) => !made.has(batch))
    const readBack = known.length === 0 ? [] : placesOf(known, await readPlaces(client.read, known))
    const stored = fresh.length === 0 ? [] : resultsOf(fresh, await send(fresh))
    const results = new Map([
      ...known.map((job, at) => [job, readBack[at] ?? []] as const),
      ...fresh.map((job, at) => [job, stored[at] ?? []] as const),
    ])
    return jobs.map((job) => results.get(job) ?? [])
  }
  return groupCommit({ counts: db.commits, watch: db.eventCommits, rowsOf: ({ batch }) => rowCount(batch), write })
}

/** Returns the places of each job's events, or an error for a job whose lease was lost. */
function resultsOf(jobs: readonly EventJob[], { answer, places, webhookIds }: Stored): (PlacedEvent[] | Error)[] {
  const lost = new Map<number, string[]>()
  const placed = new Map<number, PlacedEvent>()
  for (const { place, id, job, lease } of answer) {
    // Counted from 1 by the statement.
    if (place !== null) placed.set(places[place - 1] ?? -1, { id, webhookIds: webhookIds[place - 1] ?? [] })
    if (job !== null && lease !== null) lost.set(job, [...(lost.get(job) ?? []), lease])
  }
  return placesOf(jobs, placed).map((own, job) => {
    const leases = lost.get(job)
    return leases === undefined ? own : new LeaseLost(...leases)
  })
}

const rowCount = ({ parts, live, removed, recordings = [], subjects = [] }: CallBatch): number =>
  parts.reduce(
    (sum, { events, saved }) => sum + events.length + saved.length,
    live.length + removed.length + recordings.length + subjects.length,
  )

const eventsOf = (jobs: readonly EventJob[]) =>
  jobs.flatMap(({ batch: { parts, nowSteadyUs } }, job) =>
    parts.flatMap(({ accountId, events }) => events.map((event) => ({ ...event, job, accountId, nowSteadyUs }))),
  )

/** Returns the last item of each key, since a statement may touch a row only once. */
function lastOf<Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[] {
  return [...new Map(items.map((item) => [keyOf(item), item])).values()]
}

type JobEvent = ReturnType<typeof eventsOf>[number]

const eventValues = (events: readonly JobEvent[]): Value[] => [
  ints(events.map(({ job }) => job)),
  bigints(events.map(({ accountId }) => accountId)),
  texts(events.map(({ uuid }) => uuid)),
  texts(events.map(({ callId }) => callId)),
  texts(events.map(({ name }) => name)),
  ints(events.map(({ sequence }) => sequence)),
  bigints(events.map(({ atUs }) => atUs)),
  texts(events.map(({ body }) => body)),
  bigints(events.map(({ nowSteadyUs }) => nowSteadyUs)),
]

/** Keyed by the position of the event, which the statement counts from 1. */
const deliveryValues = (webhookIds: readonly (readonly number[])[]): Value[] => [
  ints(webhookIds.flatMap((ids, place) => ids.map(() => place + 1))),
  ints(webhookIds.flatMap((ids) => ids.map((_, nth) => nth))),
  bigints(webhookIds.flat()),
]

/** Returns the changes of the jobs beside events: of each row the last one. */
function callRows(jobs: readonly EventJob[]) {
  const calls = lastOf(
    jobs.flatMap(({ batch: { pbx, live, removed } }, job) => [
      ...live.map(({ id, state }) => ({ job, pbx, id, state })),
      ...removed.map((id) => ({ job, pbx, id, state: null })),
    ]),
    ({ pbx, id }) => JSON.stringify([pbx, id]),
  )
  return {
    live: calls.filter(({ state }) => state !== null),
    over: calls.filter(({ state }) => state === null),
    saved: lastOf(
      jobs.flatMap(({ batch }, job) =>
        batch.parts.flatMap(({ accountId, saved }) => saved.map((call) => ({ ...call, job, accountId }))),
      ),
      ({ id }) => id,
    ),
    recordings: lastOf(
      jobs.flatMap(({ batch }, job) => (batch.recordings ?? []).map((row) => ({ job, row: recordingValues(row) }))),
      ({ row }) => JSON.stringify([row.callId, row.id]),
    ),
    subjects: lastOf(
      jobs.flatMap(({ batch: { pbx, subjects = [] } }, job) =>
        subjects.map(({ id, state }) => ({ job, pbx, id, state })),
      ),
      ({ pbx, id }) => JSON.stringify([pbx, id]),
    ),
  }
}

type CallRows = ReturnType<typeof callRows>

const liveValues = (live: CallRows['live']): Value[] => [
  ints(live.map(({ job }) => job)),
  texts(live.map(({ pbx }) => pbx)),
  texts(live.map(({ id }) => id)),
  texts(live.map(({ state }) => state)),
]

/** The parameters of each part. */
const VALUES: { readonly [name in PartName]: (rows: Pick<CallRows, PartName>) => Value[] } = {
  over: ({ over }) => [
    ints(over.map(({ job }) => job)),
    texts(over.map(({ pbx }) => pbx)),
    texts(over.map(({ id }) => id)),
  ],
  saved: ({ saved }) => [
    ints(saved.map(({ job }) => job)),
    texts(saved.map(({ id }) => id)),
    texts(
      saved.map(
        ({ id, accountId, savedUs, direction, fromNumber, toNumber, fromE164 = null, toE164 = null, facts }) => {
          const { pbx = null, result = null, missed = false, who = '' } = facts ?? {}
          const columns = [id, accountId, savedUs, direction, fromNumber, toNumber, fromE164, toE164]
          return JSON.stringify([...columns, pbx, result, String(missed), who].map(withoutNul))
        },
      ),
    ),
    texts(saved.map(({ record }) => record)),
  ],
  recordings: ({ recordings }) => [
    ints(recordings.map(({ job }) => job)),
    texts(recordings.map(({ row }) => JSON.stringify(row))),
  ],
  subjects: ({ subjects }) => [
    ints(subjects.map(({ job }) => job)),
    texts(subjects.map(({ pbx }) => pbx)),
    texts(subjects.map(({ id }) => id)),
    texts(subjects.map(({ state }) => state)),
  ],
}

const recordingValues = (row: RecordingRecord) => ({
  ...row,
  path: withoutNul(row.path),
  error: withoutNul(row.error),
  stamp: withoutNul(row.stamp),
})

const withoutNul = (value: string | number | null) =>
  typeof value === 'string' ? value.replaceAll('\0', '\uFFFD') : value

/** Gives each job the places of its own events. */
function placesOf(jobs: readonly EventJob[], placed: ReadonlyMap<number, PlacedEvent>): PlacedEvent[][] {
  let next = 0
  return jobs.map(({ batch }) =>
    batch.parts.flatMap(({ events }) =>
      events.map(() => {
        const place = placed.get(next) ?? NOT_STORED
        next += 1
        return place
      }),
    ),
  )
}

/** Finds the events of a commit whose answer was lost. */
async function readPlaces(read: Query, jobs: readonly EventJob[]): Promise<Map<number, PlacedEvent>> {
  const events = eventsOf(jobs)
  const rows = await read<{ uuid: string; id: number; webhooks: string | null }>(
    `SELECT e.uuid, e.id, (SELECT string_agg(d.webhook_id::text, ',' ORDER BY d.id) FROM deliveries d
       WHERE d.id >= e.id * ${DELIVERIES_PER_EVENT} AND d.id < (e.id + 1) * ${DELIVERIES_PER_EVENT}) AS webhooks
     FROM events e WHERE e.call_id = ANY($1::text[]) AND e.uuid = ANY($2::text[])`,
    [texts([...new Set(events.map(({ callId }) => callId))]), texts(events.map(({ uuid }) => uuid))],
  )
  const byUuid = new Map(rows.map((row) => [row.uuid, row]))
  return new Map(
    events.flatMap(({ uuid }, place) => {
      const row = byUuid.get(uuid)
      return row === undefined
        ? []
        : [[place, { id: row.id, webhookIds: row.webhooks?.split(',').map(Number) ?? [] }] as const]
    }),
  )
}

/** Begins the history of this run of the database, unless another node has. Until then no node can store events. */
async function beginHistory(client: Client): Promise<void> {
  await client.transaction(async (query) => {
    await query('LOCK TABLE event_histories IN SHARE ROW EXCLUSIVE MODE')
    await query(
      `INSERT INTO event_histories (began_at, id, run)
       SELECT greatest((SELECT max(id) FROM events), (SELECT max(events_pruned_to) FROM accounts), 0),
         1 + floor(random() * 4294967295)::bigint, hookswitch_run()
       WHERE (SELECT run FROM event_histories ORDER BY began_at DESC LIMIT 1) IS DISTINCT FROM hookswitch_run()
       ON CONFLICT (began_at) DO UPDATE SET id = excluded.id, run = excluded.run`,
    )
  })
}

/** More events were stored than the last partitions were created for. */
async function addPartitions(client: Client): Promise<void> {
  await client.transaction(async (query) => {
    const [row] = await query<{ last: number }>('SELECT last_value AS last FROM event_ids')
    const current = partitionOf(row?.last ?? 0)
    await createPartitions(query, current, current + 1)
  })
}
