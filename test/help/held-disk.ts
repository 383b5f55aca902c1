declare const self: Worker

/** What a held disk shares with this thread: whether it is held, and how many commits have come to it. */
const [HELD, COMMITS] = [0, 1]

/** A disk for the writer's thread that can be held: then no commit ends until it is released, however long that takes. */
export function holdableDisk() {
  const shared = new Int32Array(new SharedArrayBuffer(8))
  return {
    thread(): Worker {
      const worker = new Worker(new URL('./held-writer.ts', import.meta.url).href)
      worker.postMessage({ shared })
      return worker
    },
    hold: (): void => void Atomics.store(shared, HELD, 1),
    release(): void {
      Atomics.store(shared, HELD, 0)
      Atomics.notify(shared, HELD)
    },
    /** How many commits have begun. */
    commits: (): number => Atomics.load(shared, COMMITS),
  }
}

/** In the writer's thread, when the module is loaded before the writer: every message of work is one commit. */
if (!Bun.isMainThread) {
  let shared = new Int32Array(2)
  const listen = self.addEventListener.bind(self)
  const held = (type: string, listener: EventListener) =>
    listen(type, (event: Event) => {
      if (event instanceof MessageEvent && 'shared' in event.data) {
        shared = event.data.shared
        return
      }
      if (event instanceof MessageEvent && 'jobs' in event.data) {
        Atomics.add(shared, COMMITS, 1)
        Atomics.wait(shared, HELD, 1)
      }
      listener(event)
    })
  Object.assign(self, { addEventListener: held })
}
