import type { AmiFrame } from './decoder.ts'

/** What became of an action. */
export type AmiReply =
  | { readonly kind: 'reply'; readonly frame: AmiFrame }
  | { readonly kind: 'rows'; readonly rows: readonly AmiFrame[] }
  /** `failed`: an error. `denied`: this user lacks the right. `partial`: a list that is not whole. `silent`: no answer in time. */
  | { readonly kind: 'denied' | 'failed' | 'partial' | 'silent'; readonly message: string }

export type Action = { readonly Action: string } & Readonly<Record<string, string>>

/** Actions that wait for their answers, told apart by ActionID. */
export type Dialogue = {
  /** Sends an action; the answer is one frame. */
  ask(action: Action): Promise<AmiReply>
  /** Sends an action whose answer is a list. `watch` is called while frames are taken, so that order can be kept. */
  list(action: Action, watch?: ListWatch): Promise<AmiReply>
  /** Takes a frame that answers; `false` if it answers nothing that was asked. */
  take(frame: AmiFrame): boolean
  /** Nothing will be answered any more. */
  close(): void
}

/** `began`: what is listed is of now, rows may be mixed with live events. `whole`: all of it is there. */
export type ListWatch = { began(): void; whole(rows: readonly AmiFrame[]): void }

type Waiting = {
  readonly rows: AmiFrame[] | undefined
  readonly watch: ListWatch | undefined
  readonly done: (reply: AmiReply) => void
  /** The first answer came: the rest of a list may take its time. */
  readonly begun: () => void
}

/** Asterisk reads lines of up to 1,024 bytes. */
const MAX_LINE_BYTES = 1_000

export function createDialogue(
  write: (text: string) => void,
  patience: { readonly replyMs: number; readonly listMs: number },
  // Nobody who can write into an event can guess it, and so forge an answer.
  prefix = `hks-${crypto.randomUUID().slice(0, 13)}`,
): Dialogue {
  const waiting = new Map<string, Waiting>()
  let count = 0

  function send(action: Action, rows?: AmiFrame[], watch?: ListWatch): Promise<AmiReply> {
    const id = `${prefix}-${++count}`
    const text = encodeAction({ ...action, ActionID: id })
    return new Promise((resolve) => {
      if (text === undefined)
        return resolve({ kind: 'failed', message: `${action.Action} holds a line end, or too much` })
      const done = (reply: AmiReply): void => {
        clearTimeout(timer)
        waiting.delete(id)
        resolve(reply)
      }
      const late = (): void => done({ kind: 'silent', message: `${action.Action} is not answered` })
      let timer = setTimeout(late, patience.replyMs)
      const begun = (): void => {
        clearTimeout(timer)
        timer = setTimeout(late, patience.listMs)
      }
      waiting.set(id, { rows, watch, done, begun })
      write(text)
    })
  }

  return {
    ask: (action) => send(action),
    list: (action, watch) => send(action, [], watch),
    take(frame) {
      const asked = waiting.get(frame.get('ActionID'))
      if (asked === undefined) return false
      const { rows, watch, done, begun } = asked
      if (frame.type === 'response' && frame.name !== 'Success') done(errorOf(frame))
      else if (rows === undefined) done({ kind: 'reply', frame })
      else if (isEndOfList(frame)) {
        const reply = wholeList(frame, rows)
        if (reply.kind === 'rows') watch?.whole(reply.rows)
        done(reply)
      } else if (frame.type === 'event') rows.push(frame)
      else {
        begun()
        watch?.began()
      }
      return true
    },
    close() {
      for (const { done } of [...waiting.values()]) done({ kind: 'silent', message: 'the connection is closed' })
    },
  }
}

function errorOf(frame: AmiFrame): AmiReply {
  const message = frame.get('Message')
  return { kind: /permission denied/i.test(message) ? 'denied' : 'failed', message: message || frame.name }
}

const isEndOfList = (frame: AmiFrame): boolean =>
  frame.type === 'event' && (/^(complete|cancelled)$/i.test(frame.get('EventList')) || frame.name.endsWith('Complete'))

/** A list that lacks a row, or has one that a caller may have written into, says nothing about what is not in it. */
function wholeList(end: AmiFrame, rows: readonly AmiFrame[]): AmiReply {
  const announced = end.get('ListItems') || end.get('Items')
  const short = announced !== '' && Number(announced) !== rows.length
  if (short || rows.some((row) => row.tainted) || end.get('EventList').toLowerCase() === 'cancelled')
    return { kind: 'partial', message: 'the list is not whole' }
  return { kind: 'rows', rows }
}

/** The bytes of an action; `undefined` if a value would end its line, or is too long. */
export function encodeAction(action: Action): string | undefined {
  const lines = Object.entries(action).map(([key, value]) => `${key}: ${value}`)
  if (lines.some((line) => /[\r\n\0]/.test(line) || Buffer.byteLength(line) > MAX_LINE_BYTES)) return undefined
  return `${lines.join('\r\n')}\r\n\r\n`
}
