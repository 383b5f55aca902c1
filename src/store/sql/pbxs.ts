import { sql } from 'drizzle-orm'
import type { CallStore } from '../operations/calls.ts'
import type { PbxChange, PbxStateRecord, PbxStore } from '../operations/pbxs.ts'
import { type Declarations, fencedWrite, read, write } from './operation.ts'
import { select } from './select.ts'
import { all, either, exists, first, integers, onPostgres, run, tableOf, texts, type Work } from './statement.ts'
import { pbxStates, pbxs } from './tables.ts'

/** The condition that a PBX was removed and nothing depends on it. */
const UNNEEDED = sql`url IS NULL AND NOT ends_calls AND (recordings IS NULL OR NOT (
  EXISTS (SELECT 1 FROM recordings r WHERE r.state = 'pending' AND r.pbx = pbxs.name)
  OR EXISTS (SELECT 1 FROM recordings r WHERE r.state = 'saved' AND r.pbx = pbxs.name AND r.copy IS NULL)))`

const setPbx = ({ name, url, origin, version, endsCalls, recordings, seenVersion }: PbxChange): Work<boolean> =>
  exists(
    seenVersion === null
      ? sql`
        INSERT INTO pbxs (name, url, origin, version, ends_calls, recordings)
        VALUES (${name}, ${url}, ${origin}, ${version}, ${endsCalls}, ${recordings})
        ON CONFLICT (name) DO NOTHING RETURNING 1`
      : sql`
        UPDATE pbxs SET url = ${url}, origin = ${origin}, version = ${version}, ends_calls = ${endsCalls},
          recordings = ${recordings}
        WHERE name = ${name} AND version = ${seenVersion} RETURNING 1`,
  )

function* setCallsEnded({ name, version }: { name: string; version: string }): Work<boolean> {
  const ended = sql`UPDATE pbxs SET ends_calls = FALSE WHERE name = ${name} AND version = ${version} RETURNING url`
  const pbx = yield* first<{ url: string | null }>(ended)
  if (pbx === undefined) return false
  yield* run(sql`DELETE FROM pbx_memory WHERE pbx = ${name}`)
  yield* run(sql`DELETE FROM subject_states WHERE pbx = ${name}`)
  yield* run(sql`DELETE FROM pbx_states WHERE pbx = ${name}`)
  if (pbx.url !== null) return true
  yield* run(sql`DELETE FROM pbxs WHERE name = ${name} AND ${UNNEEDED}`)
  // A removed PBX needs no owner.
  yield* run(onPostgres(sql`DELETE FROM leases WHERE name = ${`pbx:${name}`}`))
  return true
}

function* listPbxsInSettings(): Work<string[] | null> {
  const ofNodes = either({
    sqlite: sql`SELECT NULL AS pbxs`,
    postgres: sql`SELECT pbxs FROM nodes WHERE dead_us IS NULL`,
  })
  const names = new Set<string>()
  for (const { pbxs } of yield* all<{ pbxs: string | null }>(ofNodes)) {
    if (pbxs === null) return null
    for (const name of pbxs.split(' ').filter(Boolean)) names.add(decodeURIComponent(name))
  }
  return [...names]
}

/** The operations on PBXs. */
export const PBXS: Declarations<PbxStore> = {
  pbxList: read(() => select(pbxs, sql`ORDER BY name`)),
  pbxSet: write(setPbx),
  pbxSetCallsEnded: fencedWrite(setCallsEnded),
  pbxDeleteRemoved: write(() => exists(sql`DELETE FROM pbxs WHERE ${UNNEEDED} RETURNING 1`)),
  pbxListInSettings: read(listPbxsInSettings),
  pbxStateSetMany: fencedWrite(
    (states: readonly PbxStateRecord[]) =>
      run(sql`
        INSERT INTO pbx_states (pbx, state, at_us) SELECT s.pbx, s.state, s.at_us FROM ${tableOf('s', {
          pbx: texts(states.map(({ pbx }) => pbx)),
          state: texts(states.map(({ state }) => state)),
          at_us: integers(states.map(({ atSteadyUs }) => atSteadyUs)),
        })} WHERE true
        ON CONFLICT (pbx) DO UPDATE SET state = excluded.state, at_us = excluded.at_us`),
    { isQuiet: true },
  ),
  pbxStateList: read(() => select(pbxStates, sql``)),
}

/** The operations on the memory of a PBX: facts beside its calls. */
export const PBX_MEMORY: Declarations<Pick<CallStore, 'pbxMemoryGet' | 'pbxMemorySet'>> = {
  pbxMemoryGet: read(function* (pbx) {
    return (yield* first<{ memory: string }>(sql`SELECT memory FROM pbx_memory WHERE pbx = ${pbx}`))?.memory
  }),
  pbxMemorySet: fencedWrite(
    (pbx: string, memory: string) =>
      run(sql`
        INSERT INTO pbx_memory (pbx, memory) VALUES (${pbx}, ${memory})
        ON CONFLICT (pbx) DO UPDATE SET memory = excluded.memory`),
    { isQuiet: true },
  ),
}
