import type { EslFrame } from './decoder.ts'

/** Commands whose replies have no id: they come in the order in which the commands were sent. */
export type EslDialogue = {
  /** `undefined` if there will be no reply. `taken` is called while the frame is taken, so that order can be kept. */
  ask(command: string, taken?: (reply: EslFrame) => void): Promise<EslFrame | undefined>
  /** Takes a frame that replies; `false` if it does not, or nothing was asked. */
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
  return {
    ask(command, taken = () => {}) {
      if (/[\r\n\0]/.test(command)) return Promise.resolve(undefined)
      return new Promise((resolve) => {
        // Only the first word: the others may be a password.
        const timer = setTimeout(() => late(`${command.split(' ')[0]} is not answered`), replyMs)
        const done = (reply: EslFrame | undefined): void => {
          clearTimeout(timer)
          resolve(reply)
        }
        waiting.push({ done, taken })
        write(`${command}\n\n`)
      })
    },
    take(frame) {
      if (frame.contentType !== 'command/reply' && frame.contentType !== 'api/response') return false
      const asked = waiting.shift()
      asked?.taken(frame)
      asked?.done(frame)
      return asked !== undefined
    },
    close() {
      for (const { done } of waiting.splice(0)) done(undefined)
    },
  }
}
