import { createLog } from '../../src/lib/log.ts'
import { createPbxChanges } from '../../src/pbx/watch/pbx-changes.ts'
import { openPbxList, type PbxList } from '../../src/pbx/watch/pbx-list.ts'
import type { Store } from '../../src/store/store.ts'

/** Stores PBXs by their URLs. Returns the list as the service has it. */
export async function storedPbxs(store: Store, ...urls: string[]): Promise<PbxList> {
  const changes = createPbxChanges({ store, canRead: () => true })
  for (const url of urls) await changes.set({ url, origin: 'store', mayReplace: true })
  return openPbxList({ store, log: createLog('silent'), canRead: () => true })
}
