import { sql } from 'drizzle-orm'
import type { OutageStore } from '../operations/outages.ts'
import { type Declarations, read, write } from './operation.ts'
import { select } from './select.ts'
import { exists } from './statement.ts'
import { outages } from './tables.ts'

/** The operations on outages that were reported. */
export const OUTAGES: Declarations<OutageStore> = {
  outageList: read((what) => select(outages, sql`WHERE what = ${what} ORDER BY key`)),
  outageAdd: write(
    ({ what, key, name }) =>
      exists(sql`
        INSERT INTO outages (what, key, name) VALUES (${what}, ${key}, ${name})
        ON CONFLICT (what, key) DO NOTHING RETURNING 1`),
    { isQuiet: true },
  ),
  outageRemove: write(
    ({ what, key }) => exists(sql`DELETE FROM outages WHERE what = ${what} AND key = ${key} RETURNING 1`),
    {
      isQuiet: true,
    },
  ),
}
