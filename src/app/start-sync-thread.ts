/** Starts the thread that syncs a file. The thread is an entry point of the executable. */
export const startSyncThread = (): Worker =>
  new Worker(new URL('./sync-thread.ts', import.meta.url).href, { smol: true })
