import type { AmiFrame } from './frame.ts'

/** The outcome of an action. */
export type AmiReply =
  | { readonly kind: 'reply'; readonly frame: AmiFrame }
  | ({ readonly kind: 'rows' } & AmiRows)
  /**
   * `failed`: an error. `denied`: the user lacks the right. `partial`: an incomplete list. `unanswered`: no answer in
   * time.
   */
  | { readonly kind: 'denied' | 'failed' | 'partial' | 'unanswered'; readonly message: string }

/**
 * A complete list. Rows into which a caller may have written are left out: `uncertain` are the channels that they,
 * and the events that came in between, may be of.
 */
type AmiRows = { readonly rows: readonly AmiFrame[]; readonly uncertain: readonly string[] }

type Action = { readonly Action: string } & Readonly<Record<string, string>>

/** Actions that await their replies, matched by ActionID. */
export type Actions = {
  /** Sends an action; resolves with its reply, which is one frame. */
  send(action: Action): Promise<AmiReply>
  /** Sends an action whose reply is a list. */
  list(action: Action, options?: ListOptions): Promise<AmiReply>
  /** Takes a frame that replies; returns `false` if it replies to nothing that was sent. */
  receive(frame: AmiFrame): boolean
  /** Ends all actions: they will not be answered. */
  close(): void
}

type ListOptions = {
  /** Called while the first frame of the reply is taken, so that the list can have its place among the events. */
  readonly began?: () => void
  /** Called with each row in place of keeping it. */
  readonly row?: (frame: AmiFrame) => void
}

type Pending = {
  /** The rows of a list, `undefined` for an action whose reply is one frame. */
  readonly rows: AmiFrame[] | undefined
  /** How many rows arrived, and where the first began in the stream. */
  readonly arrived: { rows: number; offset: number }
  /** Frames since the beginning of the list that a caller may have written into. */
  readonly tainted: AmiFrame[]
  readonly options: ListOptions
  readonly resolve: (reply: AmiReply) => void
  /** Gives the rest of a list more time, once its first frame has arrived. */
  readonly extend: () => void
}

/** Asterisk reads lines of up to 1,024 bytes. */
const MAX_LINE_BYTES = 1_000
/** A channel is a row of some 1 KB: 25,000 calls. What is longer is no list of channels, and would fill the memory. */
const MAX_ROWS = 50_000
const MAX_LIST_BYTES = 64 * 1024 * 1024
/** More tainted frames are not explained one by one. */
const MAX_TAINTED = 1_000
const CLOSED: AmiReply = { kind: 'unanswered', message: 'the connection is closed' }
/** A row that has a Privilege, as live events have. */
const ROW = /^Status$/

/** Returns the actions of one connection. */
export function createActions(
  write: (text: string) => void,
  timeouts: { readonly replyMs: number; readonly listMs: number },
  // A caller who writes into an event cannot guess it, and so cannot forge a reply.
  prefix = `hks-${crypto.randomUUID().slice(0, 13)}`,
): Actions {
  const pending = new Map<string, Pending>()
  let count = 0
  let isClosed = false

  function send(action: Action, rows?: AmiFrame[], options: ListOptions = {}): Promise<AmiReply> {
    const id = `${prefix}-${++count}`
    const text = encodeAction({ ...action, ActionID: id })
    return new Promise((resolvePromise) => {
      if (text === undefined)
        return resolvePromise({ kind: 'failed', message: `${action.Action} holds a line end, or is too long` })
      if (isClosed) return resolvePromise(CLOSED)
      const resolve = (reply: AmiReply): void => {
        clearTimeout(timer)
        pending.delete(id)
        resolvePromise(reply)
      }
      const expire = (): void => resolve({ kind: 'unanswered', message: `${action.Action} is not answered` })
      let timer = setTimeout(expire, timeouts.replyMs)
      const extend = (): void => {
        clearTimeout(timer)
        timer = setTimeout(expire, timeouts.listMs)
      }
      pending.set(id, { rows, arrived: { rows: 0, offset: 0 }, tainted: [], options, resolve, extend })
      write(text)
    })
  }

  const isListing = (): boolean => pending.values().some(({ rows }) => rows !== undefined)

  return {
    send: (action) => send(action),
    list: (action, options) => send(action, [], options),
    receive(frame) {
      if (frame.tainted && frame.type !== 'response') {
        for (const { rows, tainted } of pending.values())
          if (rows !== undefined && tainted.length < MAX_TAINTED) tainted.push(frame)
        // Its id proves nothing: the rest of a row that was cut short ends with it. A live event is another matter.
        return isListing() && (frame.type === 'other' || !frame.has('Privilege') || ROW.test(frame.name))
      }
      const action = pending.get(frame.get('ActionID'))
      if (action === undefined) return false
      if (frame.type === 'response' && frame.name !== 'Success') action.resolve(errorOf(frame))
      else if (action.rows === undefined) action.resolve({ kind: 'reply', frame })
      else receiveOfList(action, action.rows, frame)
      return true
    },
    close() {
      isClosed = true
      for (const { resolve } of [...pending.values()]) resolve(CLOSED)
    },
  }
}

/** Takes a frame of a list: its beginning, a row, or its end. */
function receiveOfList(action: Pending, rows: AmiFrame[], frame: AmiFrame): void {
  const { arrived, tainted, options, resolve, extend } = action
  if (isEndOfList(frame)) resolve(replyOfList(frame, { rows, arrived: arrived.rows, tainted }))
  else if (frame.type === 'event') {
    if (arrived.rows === 0) arrived.offset = frame.offset
    arrived.rows += 1
    if (options.row === undefined) rows.push(frame)
    else options.row(frame)
    if (arrived.rows > MAX_ROWS || frame.offset - arrived.offset > MAX_LIST_BYTES)
      resolve({ kind: 'partial', message: `the list is longer than ${MAX_ROWS} rows or ${MAX_LIST_BYTES} bytes` })
  } else {
    extend()
    options.began?.()
  }
}

function errorOf(frame: AmiFrame): AmiReply {
  const message = frame.get('Message')
  return { kind: /permission denied/i.test(message) ? 'denied' : 'failed', message: message || frame.name }
}

const isEndOfList = (frame: AmiFrame): boolean =>
  frame.type === 'event' && (/^(complete|cancelled)$/i.test(frame.get('EventList')) || frame.name.endsWith('Complete'))

/**
 * A list that lacks a row proves nothing about what is not in it, unless a caller wrote into that row: then the row
 * is one of the tainted frames, as a whole or in pieces, and that channel alone is uncertain.
 */
function replyOfList(
  end: AmiFrame,
  { rows, arrived, tainted }: { rows: readonly AmiFrame[]; arrived: number; tainted: readonly AmiFrame[] },
): AmiReply {
  const announced = end.get('ListItems') || end.get('Items')
  const missing = announced === '' ? 0 : Number(announced) - arrived
  // Registrations come with rows of other kinds that are not counted.
  const isComplete = missing <= tainted.length
  if (!isComplete || end.get('EventList').toLowerCase() === 'cancelled')
    return { kind: 'partial', message: 'the list is incomplete' }
  return { kind: 'rows', rows, uncertain: [...new Set(tainted.flatMap((frame) => frame.all('Uniqueid')))] }
}

/** Returns the bytes of an action, `undefined` if a value would end its line, or is too long. */
function encodeAction(action: Action): string | undefined {
  const lines = Object.entries(action).map(([key, value]) => `${key}: ${value}`)
  if (lines.some((line) => /[\r\n\0]/.test(line) || Buffer.byteLength(line) > MAX_LINE_BYTES)) return undefined
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** Resolves with whether a silent Asterisk answers a ping, or a second one. */
export async function ping(actions: Actions): Promise<boolean> {
  for (let attempt = 0; attempt < 2; attempt++)
    if ((await actions.send({ Action: 'Ping' })).kind !== 'unanswered') return true
  return false
}
