declare const self: Worker

export {}

/** Every commit takes this much longer, as on many clouds' disks. */
const COMMIT_MS = 30

/**
 * Makes each group commit of this thread slow, when the module is loaded before the writer: every message of work is one commit.
 * The thread itself is stopped, as fsync stops it.
 */
if (!Bun.isMainThread) {
  const never = new Int32Array(new SharedArrayBuffer(4))
  const listen = self.addEventListener.bind(self)
  const slow = (type: string, listener: EventListener) =>
    listen(type, (event: Event) => {
      if (event instanceof MessageEvent && 'jobs' in event.data) Atomics.wait(never, 0, 0, COMMIT_MS)
      listener(event)
    })
  Object.assign(self, { addEventListener: slow })
}
