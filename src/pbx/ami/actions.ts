import type { AmiFrame } from './decoder.ts'

/** What became of an action. */
export type AmiReply =
  | { readonly kind: 'reply'; readonly frame: AmiFrame }
  | ({ readonly kind: 'rows' } & AmiRows)
  /** `failed`: an error. `denied`: this user lacks the right. `partial`: a list that is not whole. `silent`: no answer in time. */
  | { readonly kind: 'denied' | 'failed' | 'partial' | 'silent'; readonly message: string }

/**
 * A whole list. `unsure`: rows into which a caller may have written are left out; these are the channels that they, and the
 * events that came in between, may be of.
 */
export type AmiRows = { readonly rows: readonly AmiFrame[]; readonly unsure: readonly string[] }

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

/**
 * `began`: what is listed is of now, rows may be mixed with live events. `whole`: all of it is there. With `row` each row is handed
 * over as it comes, and none is kept.
 */
export type ListWatch = { began(): void; whole(list: AmiRows): void; row?(frame: AmiFrame): void }

type Waiting = {
  readonly rows: AmiFrame[] | undefined
  /** Rows that came, and where the first began in the stream. */
  readonly came: { rows: number; offset: number }
  /** What came since the list began and is not believed. */
  readonly tainted: AmiFrame[]
  readonly watch: ListWatch | undefined
  readonly done: (reply: AmiReply) => void
  /** The first answer came: the rest of a list may take its time. */
  readonly begun: () => void
}

/** Asterisk reads lines of up to 1,024 bytes. */
const MAX_LINE_BYTES = 1_000
/** A channel is a row of some 1 KB: 25,000 calls. What is longer is no list of channels, and would fill the memory. */
const MAX_ROWS = 50_000
const MAX_LIST_BYTES = 64 * 1024 * 1024
/** More are not explained one by one. */
const MAX_TAINTED = 1_000
/** A row that looks like a live event. */
const ROW = /^Status$/

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
      waiting.set(id, { rows, came: { rows: 0, offset: 0 }, tainted: [], watch, done, begun })
      write(text)
    })
  }

  const isListing = (): boolean => waiting.values().some(({ rows }) => rows !== undefined)

  return {
    ask: (action) => send(action),
    list: (action, watch) => send(action, [], watch),
    take(frame) {
      if (frame.tainted && frame.type !== 'response') {
        for (const { rows, tainted } of waiting.values())
          if (rows !== undefined && tainted.length < MAX_TAINTED) tainted.push(frame)
        // Not even its id says that it answers: the rest of a row that was cut short ends with it. A live event is another matter.
        return isListing() && (frame.type === 'other' || !frame.has('Privilege') || ROW.test(frame.name))
      }
      const asked = waiting.get(frame.get('ActionID'))
      if (asked === undefined) return false
      const { rows, came, tainted, watch, done, begun } = asked
      if (frame.type === 'response' && frame.name !== 'Success') done(errorOf(frame))
      else if (rows === undefined) done({ kind: 'reply', frame })
      else if (isEndOfList(frame)) {
        const reply = wholeList(frame, { rows, came: came.rows, tainted })
        if (reply.kind === 'rows') watch?.whole(reply)
        done(reply)
      } else if (frame.type === 'event') {
        if (came.rows === 0) came.offset = frame.offset
        came.rows += 1
        if (watch?.row === undefined) rows.push(frame)
        else watch.row(frame)
        if (came.rows > MAX_ROWS || frame.offset - came.offset > MAX_LIST_BYTES)
          done({ kind: 'partial', message: `the list is longer than ${MAX_ROWS} rows or ${MAX_LIST_BYTES} bytes` })
      } else {
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

/**
 * A list that lacks a row says nothing about what is not in it, unless a caller wrote into that row: then the row is one
 * of the frames that are not believed, whole or in pieces, and that channel alone is in doubt.
 */
function wholeList(
  end: AmiFrame,
  { rows, came, tainted }: { rows: readonly AmiFrame[]; came: number; tainted: readonly AmiFrame[] },
): AmiReply {
  const announced = end.get('ListItems') || end.get('Items')
  const missing = announced === '' ? 0 : Number(announced) - came
  // Registrations come with rows of other kinds that are not counted.
  const isWhole = missing <= tainted.length
  if (!isWhole || end.get('EventList').toLowerCase() === 'cancelled')
    return { kind: 'partial', message: 'the list is not whole' }
  return { kind: 'rows', rows, unsure: [...new Set(tainted.flatMap((frame) => frame.all('Uniqueid')))] }
}

/** The bytes of an action; `undefined` if a value would end its line, or is too long. */
export function encodeAction(action: Action): string | undefined {
  const lines = Object.entries(action).map(([key, value]) => `${key}: ${value}`)
  if (lines.some((line) => /[\r\n\0]/.test(line) || Buffer.byteLength(line) > MAX_LINE_BYTES)) return undefined
  return `${lines.join('\r\n')}\r\n\r\n`
}
