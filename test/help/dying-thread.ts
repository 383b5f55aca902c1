declare const self: Worker

/** How the writer's thread of a test ends. */
export type Death = 'throws' | 'exits' | 'cannot open'

/** Returns a function that starts a writer's thread which ends when it opens the store, or at its first commit. */
export const dyingThread = (death: Death) => (): Worker => {
  const worker = new Worker(new URL('./dying-writer.ts', import.meta.url).href)
  worker.postMessage({ death })
  return worker
}

/** Ends this thread at its first commit. */
function die(death: Death): void {
  if (death === 'exits') process.exit(3)
  if (death === 'throws') throw new Error('out of luck')
}

if (!Bun.isMainThread) {
  let death: Death = 'throws'
  const listen = self.addEventListener.bind(self)
  const dying = (type: string, listener: EventListener) =>
    listen(type, (event: Event) => {
      if (!(event instanceof MessageEvent)) return listener(event)
      if ('death' in event.data) {
        death = event.data.death
        return
      }
      if ('jobs' in event.data) die(death)
      const isOpening = 'open' in event.data && death === 'cannot open'
      listener(isOpening ? new MessageEvent('message', { data: { open: '/no/such/folder/hookswitch.db' } }) : event)
    })
  Object.assign(self, { addEventListener: dying })
}
