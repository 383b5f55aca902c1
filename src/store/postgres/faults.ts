import type { Query } from './engine/client.ts'

/**
 * Returns the damages that the server found in the files of this database; it checks them if their pages have
 * checksums.
 */
export async function fileFaults(read: Query): Promise<string[]> {
  const [row] = await read<{ count: number }>(
    'SELECT coalesce(checksum_failures, 0)::float8 AS count FROM pg_stat_database WHERE datname = current_database()',
  )
  const count = row?.count ?? 0
  return count === 0 ? [] : [`the server found ${count} pages of the database with a wrong checksum`]
}
