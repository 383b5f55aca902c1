import { SQL } from 'bun'
import { recordingOf } from '../../src/pbx/recorded/recording.ts'
import { run } from './app.ts'
import { acts } from './asterisk-load.ts'
import { ask, logIn, PASSWORD, webhook } from './client.ts'

type Calls = {
  /** The number of the first one. */
  readonly firstCall: number
  /** One of every `each` calls lasts `ms` longer. */
  readonly long?: { readonly each: number; readonly ms: number }
}

/** Returns the bytes of a PBX that has `callsPerSecond` new calls for `seconds`. */
export function callsOf(callsPerSecond: number, seconds: number, { firstCall, long }: Calls) {
  const pieces = Array.from({ length: Math.floor(callsPerSecond * seconds) }, (_, index) => {
    const longerMs = long !== undefined && index % long.each === 0 ? long.ms : 0
    return acts(firstCall + index).map(({ afterMs, bytes }) => ({
      atMs: 500 + (index * 1_000) / callsPerSecond + afterMs + (afterMs >= HANGS_UP_MS ? longerMs : 0),
      bytes,
    }))
  }).flat()
  pieces.sort((a, b) => a.atMs - b.atMs)
  let offset = 0
  const timing = pieces.map(({ atMs, bytes }) => {
    const line = `${offset} ${Math.round(atMs)}`
    offset += Buffer.byteLength(bytes)
    return line
  })
  return recordingOf('asterisk', Buffer.from(pieces.map(({ bytes }) => bytes).join('')), timing.join('\n'))
}
/** When a call of the load is hung up. */
const HANGS_UP_MS = 1_500

/** Adds a user, and with it an account of that name, to a database. */
export async function addUser(cwd: string, url: string, account: string): Promise<void> {
  const user = ['--email', `${account}@example.com`, '--name', account, '--account', account]
  const added = await run(['user', 'add', '--database-url', url, ...user], { cwd, stdin: `${PASSWORD}\n` })
  if (added.code !== 0) throw new Error(added.stderr)
}

/** Replaces the list of an account through any node. */
export async function putList(app: { url: string }, account: string, urls: readonly string[]): Promise<void> {
  const token = await logIn(app, `${account}@example.com`)
  const { status, body } = await ask(app, 'PUT', '/integration/webhook', {
    token,
    body: urls.map((url) => webhook(url)),
  })
  if (status !== 200) throw new Error(body.message)
}

/** Replaces the options of a URL in the list of an account. */
export async function putOptions(app: { url: string }, account: string, options: { url: string; order: string }) {
  const token = await logIn(app, `${account}@example.com`)
  const { status, body } = await ask(app, 'PUT', '/integration/webhook/options', { token, body: options })
  if (status !== 200) throw new Error(body.message)
}

export type Sql = ReturnType<typeof lastingSql>

/** A client whose connections died may wait for ever. */
const ANSWER_WITHIN_MS = 60_000

/** The test's own connection to the database, which survives a restart of the server. */
export function lastingSql(url: string) {
  let client = new SQL({ url, max: 2 })
  async function ask<Row>(statement: string): Promise<Row[]> {
    for (let tries = 0; ; tries += 1) {
      try {
        const late = Bun.sleep(ANSWER_WITHIN_MS).then(() => Promise.reject(new Error('the database does not answer')))
        return [...(await Promise.race([client.unsafe<Row[]>(statement), late]))]
      } catch (error) {
        if (tries === 200) throw error
        await client.close({ timeout: 0 }).catch(() => undefined)
        await Bun.sleep(50)
        client = new SQL({ url, max: 2 })
      }
    }
  }
  const count = async (statement: string) => (await ask<{ count: number }>(statement))[0]?.count ?? 0
  const list = async (statement: string) => (await ask<{ what: string }>(statement)).map(({ what }) => what)
  /**
   * Returns the events after `event` that a webhook did not get, and the calls that do not begin and end exactly once.
   */
  async function wrongAfter(event: number, webhooks: number): Promise<string[]> {
    const undelivered =
      await list(`WITH d AS MATERIALIZED (SELECT id / 128 AS event_id, count(*) AS n FROM ended_deliveries
          WHERE state = 1 AND id >= ${(event + 1) * 128} GROUP BY 1)
        SELECT e.uuid || ' ' || e.name || ' was delivered to ' || coalesce(d.n, 0) AS what FROM events e
        LEFT JOIN d ON d.event_id = e.id WHERE e.id > ${event} AND coalesce(d.n, 0) <> ${webhooks} LIMIT 5`)
    const ends =
      await list(`SELECT call_id || ': ' || string_agg(name, ',' ORDER BY sequence) AS what FROM events WHERE id > ${event}
        GROUP BY call_id HAVING count(*) FILTER (WHERE name = 'call_started') <> 1 OR count(*) FILTER (WHERE name = 'call_ended') <> 1
          OR count(*) FILTER (WHERE name = 'call_saved') <> 1 OR max(sequence) <> count(*)
          OR count(DISTINCT sequence) <> count(*) LIMIT 5`)
    return [...undelivered, ...ends]
  }
  const eventsAfter = (event: number) =>
    ask<{ uuid: string; account: string; call: string; sequence: number }>(`SELECT e.uuid, a.name AS account,
      e.call_id AS call, e.sequence FROM events e JOIN accounts a ON a.id = e.account_id WHERE e.id > ${event} ORDER BY e.id`)
  return {
    ask,
    freeLeases: () =>
      count(`SELECT count(*)::int AS count FROM leases l WHERE NOT EXISTS
        (SELECT FROM nodes n WHERE n.id = l.node AND n.dead_us IS NULL)`),
    leasesOf: (address: string) =>
      list(
        `SELECT l.name || ' ' || l.term AS what FROM leases l JOIN nodes n ON n.id = l.node WHERE n.address = '${address}'`,
      ),
    terms: () =>
      list(
        `SELECT l.name || ' ' || l.term AS what FROM leases l JOIN nodes n ON n.id = l.node WHERE n.dead_us IS NULL`,
      ),
    /** Returns the number of heartbeats of the living node that owns one of these leases, or 0 without such a node. */
    beatsOf: (leases: readonly string[]) =>
      count(`SELECT coalesce(max(n.beat), 0)::int AS count FROM leases l JOIN nodes n ON n.id = l.node
        WHERE n.dead_us IS NULL AND l.name || ' ' || l.term IN ('${leases.join("', '")}')`),
    liveCalls: () => count('SELECT count(*)::int AS count FROM live_calls'),
    unfinished: () =>
      count(`SELECT ((SELECT count(*) FROM pending_deliveries) + (SELECT count(*) FROM live_calls))::int AS count`),
    /** Lists the unfinished work, for people. */
    unfinishedParts: () =>
      ask(`SELECT 'delivery' AS what, webhook_id::text AS of, count(*)::int AS count, max(tries)::int AS tries,
          ((min(due_at) - extract(epoch FROM clock_timestamp()) * 1e6) / 1e6)::int AS due_in_s FROM pending_deliveries GROUP BY 2
        UNION ALL SELECT 'call', pbx, count(*)::int, NULL, NULL FROM live_calls GROUP BY 2
        UNION ALL SELECT 'lease', name || ' of ' || coalesce(node, 'nobody'), 1, NULL, NULL FROM leases
        UNION ALL SELECT 'node', id || ' ' || address || ' leaving ' || leaving, beat::int, NULL, NULL FROM nodes WHERE dead_us IS NULL`),
    pending: () => count('SELECT count(*)::int AS count FROM pending_deliveries'),
    async counts() {
      const events = await count('SELECT count(*)::int AS count FROM events')
      return { events, calls: await count('SELECT count(DISTINCT call_id)::int AS count FROM events') }
    },
    faults: (webhooks: number) => wrongAfter(0, webhooks),
    wrongAfter,
    /** All attempts that failed, on events after one. */
    failedAttemptsAfter: (event: number) =>
      ask<{
        account: string
        position: number
        uuid: string
        endedMs: number
      }>(`SELECT a.name AS account, w.position, e.uuid,
          (t.at / 1000 + t.duration_ms)::float8 AS "endedMs" FROM attempts t JOIN events e ON e.id = t.delivery_id / 128
        JOIN accounts a ON a.id = e.account_id JOIN deliveries d ON d.id = t.delivery_id JOIN webhooks w ON w.id = d.webhook_id
        WHERE t.delivery_id >= ${(event + 1) * 128} AND d.id >= ${(event + 1) * 128} AND e.id > ${event}
          AND (t.status IS NULL OR t.status NOT BETWEEN 200 AND 299)`),
    lastEvent: () => count('SELECT coalesce(max(id), 0)::int AS count FROM events'),
    events: () => eventsAfter(0),
    eventsAfter,
    stop: () => client.close({ timeout: 0 }).catch(() => undefined),
  }
}
