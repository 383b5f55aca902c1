declare const self: Worker

/** A stalled disk shares with this thread whether it is stalled, and the number of its commits. */
const [STALLED, COMMITS] = [0, 1]

/** A disk for the writer's thread that can be stalled: then no commit ends until it is released, however long that takes. */
export function stallableDisk() {
  const shared = new Int32Array(new SharedArrayBuffer(8))
  return {
    thread(): Worker {
      const worker = new Worker(new URL('./stalling-writer.ts', import.meta.url).href)
      worker.postMessage({ shared })
      return worker
    },
    stall: (): void => void Atomics.store(shared, STALLED, 1),
    release(): void {
      Atomics.store(shared, STALLED, 0)
      Atomics.notify(shared, STALLED)
    },
    /** How many commits have begun. */
    commits: (): number => Atomics.load(shared, COMMITS),
  }
}

/** Runs in the writer's thread, and is loaded before the writer: every message with jobs is one commit. */
if (!Bun.isMainThread) {
  let shared = new Int32Array(2)
  const listen = self.addEventListener.bind(self)
  const stalled = (type: string, listener: EventListener) =>
    listen(type, (event: Event) => {
      if (event instanceof MessageEvent && 'shared' in event.data) {
        shared = event.data.shared
        return
      }
      if (event instanceof MessageEvent && 'jobs' in event.data) {
        Atomics.add(shared, COMMITS, 1)
        Atomics.wait(shared, STALLED, 1)
      }
      listener(event)
    })
  Object.assign(self, { addEventListener: stalled })
}
