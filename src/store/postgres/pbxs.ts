import type { PbxRecord, PbxStateRecord, PbxStore } from '../operations/pbxs.ts'
import type { Query } from './engine/client.ts'
import type { Database } from './engine/database.ts'
import { requireLeases } from './engine/fence.ts'

const touches = async (query: Query, ...statement: Parameters<Query>): Promise<boolean> =>
  (await query(...statement)).length > 0

/** A PBX that was removed, and that nothing depends on. */
const UNNEEDED = `url IS NULL AND NOT ends_calls AND (recordings IS NULL OR NOT (
  EXISTS (SELECT FROM recordings r WHERE r.state = 'pending' AND r.pbx = pbxs.name)
  OR EXISTS (SELECT FROM recordings r WHERE r.state = 'saved' AND r.pbx = pbxs.name AND r.copy IS NULL)))`

/** Notes that the calls of an earlier PBX are ended. One that was removed needs no owner any more. */
async function setCallsEnded(query: Query, { name, version }: { name: string; version: string }): Promise<boolean> {
  const ended = await query<{ removed: boolean }>(
    'UPDATE pbxs SET ends_calls = FALSE WHERE name = $1 AND version = $2 RETURNING url IS NULL AS removed',
    [name, version],
  )
  const [row] = ended
  if (row === undefined) return false
  await query('DELETE FROM pbx_memory WHERE pbx = $1', [name])
  await query('DELETE FROM pbx_states WHERE pbx = $1', [name])
  if (!row.removed) return true
  await query(`DELETE FROM pbxs WHERE name = $1 AND ${UNNEEDED}`, [name])
  await query('DELETE FROM leases WHERE name = $1', [`pbx:${name}`])
  return true
}

/** Creates the operations on PBXs. */
export function createPbxStore({ read, change, transaction }: Database): PbxStore {
  return {
    pbxList: () =>
      read<PbxRecord>(
        'SELECT name, url, origin, version, ends_calls AS "endsCalls", recordings FROM pbxs ORDER BY name',
      ),
    pbxSet: ({ name, url, origin, version, endsCalls, recordings, seenVersion }) =>
      change((query) =>
        seenVersion === null
          ? touches(
              query,
              `INSERT INTO pbxs (name, url, origin, version, ends_calls, recordings) VALUES ($1, $2, $3, $4, $5::boolean, $6)
               ON CONFLICT (name) DO NOTHING RETURNING 1 AS one`,
              [name, url, origin, version, endsCalls, recordings],
            )
          : touches(
              query,
              `UPDATE pbxs SET url = $2, origin = $3, version = $4, ends_calls = $5::boolean, recordings = $6
               WHERE name = $1 AND version = $7 RETURNING 1 AS one`,
              [name, url, origin, version, endsCalls, recordings, seenVersion],
            ),
      ),
    pbxSetCallsEnded: (ended, fence) =>
      change(async (query) => {
        if (fence !== undefined) await requireLeases(query, fence)
        return setCallsEnded(query, ended)
      }),
    pbxDeleteRemoved: () => change((query) => touches(query, `DELETE FROM pbxs WHERE ${UNNEEDED} RETURNING 1 AS one`)),
    async pbxListInSettings() {
      const rows = await read<{ pbxs: string }>('SELECT pbxs FROM nodes WHERE dead_us IS NULL')
      return [...new Set(rows.flatMap(({ pbxs }) => pbxs.split(' ').filter(Boolean).map(decodeURIComponent)))]
    },
    pbxStateSet: ({ pbx, state, atSteadyUs }, fence) =>
      transaction(async (query) => {
        await query(
          `INSERT INTO pbx_states (pbx, state, at_us) VALUES ($1, $2, $3::bigint)
           ON CONFLICT (pbx) DO UPDATE SET state = excluded.state, at_us = excluded.at_us`,
          [pbx, state, atSteadyUs],
        )
      }, fence),
    pbxStateList: () => read<PbxStateRecord>('SELECT pbx, state, at_us::float8 AS "atSteadyUs" FROM pbx_states'),
  }
}
