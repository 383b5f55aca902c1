import { SQL } from 'bun'
import { recordingOf } from '../../src/pbx/tools/replay/recording.ts'
import { run } from './app.ts'
import { acts } from './asterisk-load.ts'
import { ask, logIn, PASSWORD, webhook } from './client.ts'

/** The bytes of a PBX with so many calls a second, for so long. */
export function callsOf(callsPerSecond: number, seconds: number, firstCall: number) {
  const pieces = Array.from({ length: Math.floor(callsPerSecond * seconds) }, (_, index) =>
    acts(firstCall + index).map(({ afterMs, bytes }) => ({
      atMs: 500 + (index * 1_000) / callsPerSecond + afterMs,
      bytes,
    })),
  ).flat()
  pieces.sort((a, b) => a.atMs - b.atMs)
  let offset = 0
  const timing = pieces.map(({ atMs, bytes }) => {
    const line = `${offset} ${Math.round(atMs)}`
    offset += Buffer.byteLength(bytes)
    return line
  })
  return recordingOf('ami', Buffer.from(pieces.map(({ bytes }) => bytes).join('')), timing.join('\n'))
}

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

export type Sql = ReturnType<typeof lastingSql>

/** What the test asks the database itself, also after that was restarted. */
export function lastingSql(url: string) {
  let client = new SQL({ url, max: 2 })
  async function ask<Row>(statement: string): Promise<Row[]> {
    for (let tries = 0; ; tries += 1) {
      try {
        return [...(await client.unsafe<Row[]>(statement))]
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
    unfinished: () =>
      count(`SELECT ((SELECT count(*) FROM pending_deliveries) + (SELECT count(*) FROM live_calls))::int AS count`),
    /** What is left of it, for people. */
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
    async faults(webhooks: number): Promise<string[]> {
      const undelivered =
        await list(`WITH d AS MATERIALIZED (SELECT id / 128 AS event_id, count(*) AS n FROM ended_deliveries WHERE state = 1 GROUP BY 1)
        SELECT e.uuid || ' ' || e.name || ' was delivered to ' || coalesce(d.n, 0) AS what FROM events e
        LEFT JOIN d ON d.event_id = e.id WHERE coalesce(d.n, 0) <> ${webhooks} LIMIT 5`)
      const ends =
        await list(`SELECT call_id || ': ' || string_agg(name, ',' ORDER BY sequence) AS what FROM events GROUP BY call_id
        HAVING count(*) FILTER (WHERE name = 'call_started') <> 1 OR count(*) FILTER (WHERE name = 'call_ended') <> 1
          OR count(*) FILTER (WHERE name = 'call_saved') <> 1 OR max(sequence) <> count(*) LIMIT 5`)
      return [...undelivered, ...ends]
    },
    /** The place of the webhook in its list, and the event, of all that failed at least once. */
    async failedAttempts(): Promise<Set<string>> {
      const failed = await list(`SELECT DISTINCT w.position || ' ' || e.uuid AS what FROM attempts t
        JOIN deliveries d ON d.id = t.delivery_id JOIN events e ON e.id = d.id / 128 JOIN webhooks w ON w.id = d.webhook_id
        WHERE t.status IS NULL OR t.status NOT BETWEEN 200 AND 299`)
      return new Set(failed)
    },
    /** Returns the attempts of a call, for people. */
    attempts: (call: string) =>
      ask(`SELECT w.position, e.sequence, e.uuid, t.at::text, t.status, t.duration_ms, t.error FROM events e
        JOIN deliveries d ON d.id / 128 = e.id JOIN webhooks w ON w.id = d.webhook_id
        LEFT JOIN attempts t ON t.delivery_id = d.id WHERE e.call_id = '${call}' ORDER BY w.position, e.sequence, t.at`),
    events: () =>
      ask<{
        uuid: string
        account: string
        call: string
        sequence: number
      }>(`SELECT e.uuid, a.name AS account, e.call_id AS call,
        e.sequence FROM events e JOIN accounts a ON a.id = e.account_id ORDER BY e.id`),
    stop: () => client.close({ timeout: 0 }).catch(() => undefined),
  }
}
