import {
  type Claim,
  type ClusterBeat,
  type ClusterStore,
  EVERY_PBX,
  type Gift,
  type LiveNode,
  type NodeRecord,
} from '../operations/cluster.ts'
import { type Client, texts } from './engine/client.ts'
import type { Hints } from './engine/hints.ts'
import { isBroken } from './engine/store-fault.ts'

/** At most this many free leases are offered to a node at a time. */
const MAX_FREE = 512
const HOUR_US = 3_600_000_000
/** The channel of hints that leases changed hands. */
const CHANNEL = 'hookswitch_leases'

/** A list of names in a column. */
const listText = (names: readonly string[]): string => names.map(encodeURIComponent).join(' ')
const listOf = (text: string): string[] => text.split(' ').filter(Boolean).map(decodeURIComponent)

const NOW_US = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint'

/** Creates the cluster operations of the engine: nodes and leases. Without `hints`, no node is notified of changes. */
export function createClusterStore({ query }: Pick<Client, 'query'>, hints?: Hints): ClusterStore {
  /** A statement of its own, because some databases lack it. */
  const hint = () => query(`SELECT pg_notify($1, '')`, [CHANNEL]).catch(() => undefined)
  return {
    async clockGet() {
      const [row] = await query<{ now: number }>(`SELECT ${NOW_US} AS now`)
      return row?.now ?? 0
    },
    historyGet: () =>
      // Some databases lack it.
      query<{ timeline: string }>(`SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline`).then(
        ([row]) => row?.timeline ?? null,
        (error) => (isBroken(error) ? Promise.reject(error) : null),
      ),
    async nodeAdd({ id, address, version, pbxs, presets = null, settings = null }) {
      const leases = ['maintenance', ...pbxs.map((name) => `pbx:${name}`)]
      const terms = leases.map(() => crypto.randomUUID())
      const values = [
        id,
        address,
        version,
        [EVERY_PBX, listText(pbxs)].join(' '),
        texts(leases),
        texts(terms),
        settings,
        presets === null ? null : listText(presets),
      ]
      await query(ADD, values)
    },
    async nodeBeat(id, { isLeaving, seenVersion = -1, addsLeases = true, ownersOf = [], clockAheadUs = null }) {
      const values = [id, isLeaving, seenVersion, addsLeases, texts(ownersOf), clockAheadUs]
      const rows = await query<BeatRow>(BEAT, values)
      return rows.some(({ what }) => what === 'beat') ? beatOf(rows) : undefined
    },
    async nodeEndIfSilent({ id, beat }) {
      const rows = await query<{ id: string }>(
        `WITH changed AS (
           UPDATE nodes SET dead_us = ${NOW_US} WHERE id = $1 AND beat = $2 AND dead_us IS NULL RETURNING id), ${COUNTED}
         SELECT id FROM changed`,
        [id, beat],
      )
      if (rows.length > 0) void hint()
      return rows.length > 0
    },
    async nodeEnd(id) {
      await query(
        `WITH changed AS (
           UPDATE nodes SET dead_us = ${NOW_US}, leaving = TRUE WHERE id = $1 AND dead_us IS NULL RETURNING id), ${COUNTED}
         SELECT id FROM changed`,
        [id],
      )
      await hint()
    },
    async leaseClaim({ node, claims }) {
      const of = (field: keyof Claim) => texts(claims.map((claim) => claim[field]))
      const rows = await query<{ name: string }>(CLAIM, [node, of('name'), of('seenTerm'), of('newTerm')])
      return rows.map(({ name }) => name)
    },
    async leaseGive(gifts) {
      const of = (field: keyof Gift) => texts(gifts.map((gift) => gift[field]))
      await query(GIVE, [of('name'), of('term'), of('to'), of('newTerm')])
      void hint()
    },
    listen: (onChange) => hints?.listen(CHANNEL, onChange) ?? (() => Promise.resolve()),
    async nodeList() {
      const rows = await query<NodeRow>(LIST)
      return rows.map(
        ({ leases, presets, ...node }): NodeRecord => ({
          ...node,
          presets: presets === null ? null : listOf(presets),
          leases: leases === '' ? [] : leases.split('\n'),
        }),
      )
    },
  }
}

/** Counts a change of leases, if there was one. All writers lock this row after the leases, so that none deadlock. */
const COUNTED = `counted AS (
    UPDATE lease_changes SET version = version + 1 WHERE EXISTS (SELECT FROM changed))`

/** Deletes nodes that have been dead for long, unless something still belongs to them. */
const ADD = `
  WITH forgotten AS (
    DELETE FROM nodes n WHERE dead_us < ${NOW_US} - ${HOUR_US}
      AND NOT EXISTS (SELECT FROM leases l WHERE l.node = n.id)
  ), changed AS (
    INSERT INTO leases (name, node, term) SELECT name, NULL, term FROM unnest($5::text[], $6::text[]) AS new (name, term)
      ON CONFLICT (name) DO NOTHING RETURNING name
  ), ${COUNTED}
  INSERT INTO nodes (id, address, version, pbxs, started_us, beat, beat_us, settings, presets)
    VALUES ($1, $2, $3, $4, ${NOW_US}, 1, ${NOW_US}, $7, $8) ON CONFLICT (id) DO NOTHING`

type BeatRow = {
  what: 'beat' | 'clock' | 'node' | 'version' | 'own' | 'free' | 'count' | 'owner'
  name: string | null
  text: string | null
  number: number
  leaving: boolean
  presets: string | null
}

/**
 * One statement, so that everything is read at one moment. Leases are read only if their version has changed, so that a
 * heartbeat costs the same with any number of them. For a dead node nothing is changed and no row \`beat\` is returned:
 * its row is read again after the transaction that declared it dead has committed.
 */
const BEAT = `
  WITH beat AS (
    UPDATE nodes SET beat = beat + 1, beat_us = ${NOW_US}, leaving = $2, clock_ahead_us = $6
      WHERE id = $1 AND dead_us IS NULL RETURNING id
  ), changed AS (
    INSERT INTO leases (name, node, term)
      SELECT 'account:' || a.id, NULL, gen_random_uuid()::text FROM accounts a
        WHERE $4::boolean AND NOT EXISTS (SELECT FROM leases l WHERE l.name = 'account:' || a.id)
      UNION ALL SELECT 'pbx:' || p.name, NULL, gen_random_uuid()::text FROM pbxs p
        WHERE $4::boolean AND (p.url IS NOT NULL OR p.ends_calls)
          AND NOT EXISTS (SELECT FROM leases l WHERE l.name = 'pbx:' || p.name)
      ON CONFLICT (name) DO NOTHING RETURNING name
  ), ${COUNTED}, seen AS (
    SELECT version FROM lease_changes WHERE version <> $3
  ), alive AS (
    SELECT id, beat, pbxs, leaving, presets FROM nodes WHERE dead_us IS NULL
  ), free AS (
    SELECT l.name, l.term FROM leases l WHERE EXISTS (SELECT FROM seen) AND NOT EXISTS (SELECT FROM alive WHERE alive.id = l.node) LIMIT ${MAX_FREE}
  ), counts AS (
    SELECT alive.id AS node, split_part(l.name, ':', 1) AS kind, count(*) AS count
      FROM leases l LEFT JOIN alive ON alive.id = l.node WHERE EXISTS (SELECT FROM seen) GROUP BY 1, 2
  )
  SELECT 'beat' AS what, id AS name, NULL AS text, 0::bigint AS number, false AS leaving,
    NULL AS presets FROM beat
  UNION ALL SELECT 'clock', NULL, NULL, ${NOW_US}, false, NULL
  UNION ALL SELECT 'node', id, pbxs, beat, leaving, presets FROM alive
  UNION ALL SELECT 'version', NULL, NULL, version, false, NULL FROM seen
  UNION ALL SELECT 'own', name, term, 0, false, NULL FROM leases WHERE node = $1 AND EXISTS (SELECT FROM seen)
  UNION ALL SELECT 'owner', l.name, l.node, 0, false, NULL FROM leases l JOIN alive ON alive.id = l.node
    WHERE l.name = ANY($5::text[]) AND EXISTS (SELECT FROM seen)
  UNION ALL SELECT 'free', name, term, 0, false, NULL FROM free
  UNION ALL SELECT 'count', node, kind, count, false, NULL FROM counts`

/** As in CLAIM, rows are locked in the order of their names. */
const GIVE = `
  WITH given AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS given (name, term, receiver, new_term)
  ), locked AS (
    SELECT l.name, given.receiver, given.new_term FROM leases l
      JOIN given ON given.name = l.name AND given.term = l.term ORDER BY l.name FOR UPDATE OF l
  ), changed AS (
    UPDATE leases SET node = locked.receiver, term = locked.new_term FROM locked WHERE leases.name = locked.name
      RETURNING leases.name
  ), ${COUNTED}
  SELECT name FROM changed`

/** Rows are locked in the order of their names, like by writers that are owners, so that the two never deadlock. */
const CLAIM = `
  WITH wanted AS (
    SELECT name, seen_term, new_term FROM unnest($2::text[], $3::text[], $4::text[]) AS wanted (name, seen_term, new_term)
  ), locked AS (
    SELECT l.name, w.new_term FROM leases l JOIN wanted w ON w.name = l.name AND w.seen_term = l.term
      ORDER BY l.name FOR UPDATE OF l
  ), changed AS (
    UPDATE leases SET node = $1, term = locked.new_term FROM locked WHERE leases.name = locked.name RETURNING leases.name
  ), ${COUNTED}
  SELECT name FROM changed`

type NodeRow = Omit<NodeRecord, 'leases' | 'presets'> & { leases: string; presets: string | null }

const LIST = `
  SELECT id, address, version, started_us AS "startedUs", beat_us AS "beatUs", dead_us AS "deadUs",
    clock_ahead_us AS "clockAheadUs", settings, presets, leaving AS "isLeaving",
    coalesce((SELECT string_agg(name, E'\\n' ORDER BY name) FROM leases WHERE node = id AND dead_us IS NULL), '') AS leases
  FROM nodes WHERE dead_us IS NULL OR dead_us > ${NOW_US} - ${HOUR_US} ORDER BY started_us, id`

function beatOf(rows: readonly BeatRow[]): ClusterBeat {
  const of = (what: BeatRow['what']) => rows.filter((row) => row.what === what)
  const lease = ({ name, text }: BeatRow) => ({ name: name ?? '', term: text ?? '' })
  const node = ({ name, text, number, leaving, presets }: BeatRow): LiveNode => ({
    id: name ?? '',
    beat: number,
    isLeaving: leaving,
    pbxs: listOf(text ?? ''),
    presets: presets === null ? null : listOf(presets),
  })
  const version = of('version')[0]?.number
  return {
    databaseUs: of('clock')[0]?.number ?? 0,
    nodes: of('node').map(node),
    leases:
      version === undefined
        ? undefined
        : {
            version,
            own: of('own').map(lease),
            free: of('free').map(lease),
            counts: of('count').map(({ name, text, number }) => ({ node: name, kind: text ?? '', count: number })),
            owners: of('owner').map(({ name, text }) => ({ name: name ?? '', node: text ?? '' })),
          },
  }
}
