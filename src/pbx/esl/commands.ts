import type { EslFrame } from './decoder.ts'

/** Commands whose replies have no id: they come in the order in which the commands were sent. */
export type EslDialogue = {
  /** `undefined` if there will be no reply. `taken` is called while the frame is taken, so that order can be kept. */
  ask(command: string, taken?: (reply: EslFrame) => void): Promise<EslFrame | undefined>
  /** Has an API command run in the background, so that events come meanwhile; returns what it says, `undefined` if that does not come. */
  job(command: string): Promise<string | undefined>
  /** Takes a frame that replies, or ends a job; `false` if it does not, or nothing was asked. */
  take(frame: EslFrame): boolean
  close(): void
}

type Waiting = { readonly done: (reply: EslFrame | undefined) => void; readonly taken: (reply: EslFrame) => void }

/** `late` is called when a reply does not come: later ones could no longer be told apart. */
export function createEslDialogue(
  write: (text: string) => void,
  replyMs: number,
  late: (what: string) => void,
): EslDialogue {
  const waiting: Waiting[] = []
  const jobs = new Map<string, (body: string | undefined) => void>()

  function send(text: string, taken: (reply: EslFrame) => void): Promise<EslFrame | undefined> {
    return new Promise((resolve) => {
      // Only the first word: the others may be a password.
      const timer = setTimeout(() => late(`${text.split(' ')[0]} is not answered`), replyMs)
      const done = (reply: EslFrame | undefined): void => {
        clearTimeout(timer)
        resolve(reply)
      }
      waiting.push({ done, taken })
      write(`${text}\n\n`)
    })
  }

  return {
    ask(command, taken = () => {}) {
      return /[\r\n\0]/.test(command) ? Promise.resolve(undefined) : send(command, taken)
    },
    async job(command) {
      if (/[\r\n\0]/.test(command)) return undefined
      // Named by us: what a job says may come before the reply that it was begun.
      const id = crypto.randomUUID()
      const { promise: ended, resolve } = Promise.withResolvers<string | undefined>()
      const timer = setTimeout(() => resolve(undefined), replyMs)
      jobs.set(id, resolve)
      const begun = await send(`bgapi ${command}\nJob-UUID: ${id}`, () => {})
      if (begun !== undefined && !begun.get('Reply-Text').startsWith('+OK')) resolve('-ERR it may not be asked')
      const body = begun === undefined ? undefined : await ended
      clearTimeout(timer)
      jobs.delete(id)
      return body
    },
    take(frame) {
      if (frame.event?.name === 'BACKGROUND_JOB') {
        const { event } = frame
        jobs.get(event.get('Job-UUID'))?.(event.body)
        return true
      }
      if (frame.contentType !== 'command/reply' && frame.contentType !== 'api/response') return false
      const asked = waiting.shift()
      asked?.taken(frame)
      asked?.done(frame)
      return asked !== undefined
    },
    close() {
      for (const { done } of waiting.splice(0)) done(undefined)
      for (const resolve of jobs.values()) resolve(undefined)
    },
  }
}
