import type { Query } from './engine/client.ts'

/** Replaces what is known of a PBX. */
export async function setPbxMemory(query: Query, pbx: string, memory: string): Promise<void> {
  await query(
    'INSERT INTO pbx_memory (pbx, memory) VALUES ($1, $2) ON CONFLICT (pbx) DO UPDATE SET memory = excluded.memory',
    [pbx, memory],
  )
}

/** Returns what was known of a PBX, `undefined` if nothing was. */
export async function readPbxMemory(read: Query, pbx: string): Promise<string | undefined> {
  return (await read<{ memory: string }>('SELECT memory FROM pbx_memory WHERE pbx = $1', [pbx]))[0]?.memory
}
