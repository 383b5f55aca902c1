import type { DeliveryPart, DeliveryRow, LogFilter, LogStore } from '../../src/store/operations/log.ts'

/** Returns all deliveries that match, the newest first: a part of the log may end early, however few it has read. */
export async function wholeLog(log: Pick<LogStore, 'deliveryList'>, filter: LogFilter): Promise<DeliveryRow[]> {
  const rows: DeliveryRow[] = []
  for (let fromId: number | null = Number.MAX_SAFE_INTEGER; fromId !== null; ) {
    const part: DeliveryPart = await log.deliveryList({ filter, fromId, limit: 1_000, order: 'newest' })
    rows.push(...part.rows)
    fromId = part.nextId
  }
  return rows
}
