import { DELIVERIES_PER_EVENT } from '../../records.ts'
import type { Query } from './client.ts'

/** So many event ids are in one partition: more than are stored in a day, some 770 in each second of it. */
export const EVENTS_PER_PARTITION = 2 ** 26

export const partitionOf = (eventId: number): number => Math.floor(eventId / EVENTS_PER_PARTITION)

const TABLES = [
  { table: 'events', perEvent: 1 },
  { table: 'ended_deliveries', perEvent: DELIVERIES_PER_EVENT },
  { table: 'attempts', perEvent: DELIVERIES_PER_EVENT },
] as const

/** Makes the partitions that are missing, from the first number to the last. */
export async function createPartitions(query: Query, first: number, last: number): Promise<void> {
  for (let number = first; number <= last; number += 1)
    for (const { table, perEvent } of TABLES) {
      const bounds = [number, number + 1].map((edge) => edge * EVENTS_PER_PARTITION * perEvent)
      await query(
        `CREATE TABLE IF NOT EXISTS ${table}_${number} PARTITION OF ${table} FOR VALUES FROM (${bounds[0]}) TO (${bounds[1]})`,
      )
    }
}
