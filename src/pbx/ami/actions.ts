import { startReplyDeadline } from '../connection/reply-deadline.ts'
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
 * A complete list. Rows that a caller may have written into are left out: their channels, and the channels of tainted
 * events that came in between, are `uncertain`.
 */
type AmiRows = { readonly rows: readonly AmiFrame[]; readonly uncertain: readonly string[] }

/** The headers of an action; a header with several values is sent several times. */
export type Action = { readonly Action: string } & Readonly<Record<string, string | readonly string[]>>

/** Actions that await their replies, matched by ActionID. */
export type Actions = {
  /** The beginning of the ids of all actions. A caller cannot know it. */
  readonly idPrefix: string
  /** Sends an action; resolves with its reply of one frame. */
  send(action: Action): Promise<AmiReply>
  /** Sends an action whose reply is a list. */
  list(action: Action, options?: ListOptions): Promise<AmiReply>
  /** Takes a frame; returns `false` if it replies to no action. */
  receive(frame: AmiFrame): boolean
  /** Ends all actions: there will be no replies. */
  close(): void
}

type ListOptions = {
  /** Called when the first frame of the reply arrives, so that the list gets its place among the events. */
  readonly began?: () => void
  /** Called with each row, instead of keeping it. */
  readonly row?: (frame: AmiFrame) => void
}

type Pending = {
  /** The rows of a list, `undefined` for an action whose reply is one frame. */
  readonly rows: AmiFrame[] | undefined
  /** Whether the list has begun, the number of rows so far, and the stream offset of the first. */
  readonly arrived: { hasBegun: boolean; rows: number; offset: number }
  /** Tainted frames since the beginning of the list. */
  readonly tainted: AmiFrame[]
  readonly options: ListOptions
  readonly resolve: (reply: AmiReply) => void
  /** Extends the timeout of a list once its first frame has arrived. */
  readonly extend: () => void
}

/** Asterisk reads lines of up to 1,024 bytes. */
const MAX_LINE_BYTES = 1_000
/** A channel is a row of some 1 KB: 25,000 calls. A longer list is no list of channels, and would fill the memory. */
const MAX_ROWS = 50_000
const MAX_LIST_BYTES = 64 * 1024 * 1024
/** Further tainted frames are not examined one by one. */
const MAX_TAINTED = 1_000
const CLOSED: AmiReply = { kind: 'unanswered', message: 'the connection is closed' }
/** A row with a Privilege header, like a live event. */
const ROW = /^Status$/

type Waits = {
  readonly replyMs: number
  /** From the first frame of a list to its end. */
  readonly listMs: number
  /** Returns whether bytes have arrived that are not decoded yet. */
  readonly isBehind?: () => boolean
}

/** Returns the actions of one connection. */
export function createActions(
  write: (text: string) => void,
  { replyMs, listMs, isBehind }: Waits,
  // Random, so that a caller who writes into an event cannot forge a reply.
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
        deadline.cancel()
        pending.delete(id)
        resolvePromise(reply)
      }
      const expire = (): void => resolve({ kind: 'unanswered', message: `${action.Action} is not answered` })
      let deadline = startReplyDeadline(replyMs, expire, isBehind)
      const extend = (): void => {
        deadline.cancel()
        deadline = startReplyDeadline(listMs, expire, isBehind)
      }
      pending.set(id, { rows, arrived: { hasBegun: false, rows: 0, offset: 0 }, tainted: [], options, resolve, extend })
      write(text)
    })
  }

  const isListing = (): boolean => pending.values().some(({ rows }) => rows !== undefined)
  function taint(frame: AmiFrame): void {
    for (const { rows, tainted } of pending.values())
      if (rows !== undefined && tainted.length < MAX_TAINTED) tainted.push(frame)
  }

  return {
    idPrefix: prefix,
    send: (action) => send(action),
    list: (action, options) => send(action, [], options),
    receive(frame) {
      if (frame.tainted && frame.type !== 'response') {
        taint(frame)
        // The ActionID proves nothing here: the rest of a row that was cut short ends with it. A live event has none.
        return isListing() && (frame.type === 'other' || !frame.has('Privilege') || ROW.test(frame.name))
      }
      const action = pending.get(frame.get('ActionID'))
      if (action === undefined) return false
      // A list has one response: another one is a caller's text in a row, whose rest ends with the ActionID.
      if (frame.type === 'response' && action.arrived.hasBegun) taint(frame)
      else if (frame.type === 'response' && frame.name !== 'Success') action.resolve(errorOf(frame))
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
    arrived.hasBegun = true
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
 * Returns the reply of a complete list. If a row is missing, the list proves nothing about absent channels, unless a
 * caller wrote into that row: then it is among the tainted frames, whole or in pieces, and only its channel is
 * uncertain.
 */
function replyOfList(
  end: AmiFrame,
  { rows, arrived, tainted }: { rows: readonly AmiFrame[]; arrived: number; tainted: readonly AmiFrame[] },
): AmiReply {
  const announced = end.get('ListItems') || end.get('Items')
  const missing = announced === '' ? 0 : Number(announced) - arrived
  // Lists of registrations have rows of other kinds, which are not counted.
  const isComplete = missing <= tainted.length
  if (!isComplete || end.get('EventList').toLowerCase() === 'cancelled')
    return { kind: 'partial', message: 'the list is incomplete' }
  return { kind: 'rows', rows, uncertain: [...new Set(tainted.flatMap((frame) => frame.all('Uniqueid')))] }
}

/** Returns the bytes of an action, `undefined` if a value is too long or would end its line. */
function encodeAction(action: Action): string | undefined {
  const lines = Object.entries(action).flatMap(([key, value]) => [value].flat().map((one) => `${key}: ${one}`))
  if (lines.some((line) => /[\r\n\0]/.test(line) || Buffer.byteLength(line) > MAX_LINE_BYTES)) return undefined
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** Resolves with whether a silent Asterisk answers a first or a second ping. */
export async function ping(actions: Actions): Promise<boolean> {
  for (let attempt = 0; attempt < 2; attempt++)
    if ((await actions.send({ Action: 'Ping' })).kind !== 'unanswered') return true
  return false
}
