import type { Socket } from 'bun'
import { createAsterisk } from './asterisk.ts'
import { createFreeswitch } from './freeswitch.ts'
import type { Conversation } from './persona.ts'
import { type Recording, readRecording, type Step } from './recording.ts'

/**
 * Events from this moment of a recording on (the first one, unless `file` is given) wait for `until`, and the time of
 * the recording stops.
 */
export type Hold = { readonly file?: number; readonly atMs: number; readonly until: Promise<unknown> }

export type ReplayOptions = {
  /**
   * Recordings of one PBX, or the files that hold them. At the end of each but the last the connection is closed, and
   * the next login begins the next.
   */
  readonly files: readonly (string | Recording)[]
  /** All events wait for this, too. */
  readonly after?: Promise<unknown>
  readonly holds?: readonly Hold[]
  readonly hostname?: string
  readonly port?: number
  /** 2 plays twice as fast, `Infinity` as fast as the client reads. */
  readonly speed?: number
  /**
   * Closes the connection after so many events; the `missing` ones after it are never sent, the next login goes on
   * behind them.
   */
  readonly cut?: { readonly after: number; readonly missing: number }
  /** Plays them again and again, with a pause of so long between two rounds. */
  readonly againAfterMs?: number
  /** Certificate and key (PEM), to be an `amis://` PBX. */
  readonly tls?: { readonly cert: string; readonly key: string }
}

export type Replay = {
  readonly kind: 'ami' | 'esl'
  readonly port: number
  /** How many events the recordings hold, and how many were played. */
  readonly events: number
  played(): number
  /** How many clients are logged in. */
  clients(): number
  /** The last event of the last recording was sent, for the first time. */
  readonly finished: Promise<void>
  stop(): Promise<void>
}

type Peer = {
  readonly socket: Socket<unknown>
  conversation: Conversation | undefined
  unsent: Buffer
  ready: boolean
  closing: boolean
}

/** Plays recordings as a PBX. Events begin when a client has logged in, and wait while there is none. */
export function startReplay(options: ReplayOptions): Replay {
  const { files, after, holds = [], hostname = '127.0.0.1', port = 0, speed = 1, cut, tls, againAfterMs } = options
  const recordings = files.map((file) => (typeof file === 'string' ? readRecording(file) : file))
  const kind = recordings[0]?.kind ?? 'ami'
  const persona = personaOf(kind)
  const finish = Promise.withResolvers<void>()
  const peers = new Map<Socket<unknown>, Peer>()
  let current = -1
  let steps: readonly Step[] = []
  let at = 0
  let played = 0
  let atMs = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let again: ReturnType<typeof setTimeout> | undefined
  let stopped = false
  const pendingHolds = new Set<Hold>(after === undefined ? holds : [{ atMs: 0, until: after }, ...holds])
  /** A moment of the recording and its time by the clock; `undefined` while no client is logged in. */
  let anchor: { readonly wallMs: number; readonly atMs: number } | undefined

  const load = (): void => {
    const recording: Recording | undefined = recordings[++current]
    if (recording === undefined) return
    const loaded = persona.load(recording)
    steps = loaded.steps
    atMs = loaded.beginMs
    at = 0
  }
  const send = (peer: Peer, bytes: Buffer | string): void => {
    peer.unsent = Buffer.concat([peer.unsent, Buffer.from(bytes)])
    flush(peer)
  }
  const ready = (): Peer[] => [...peers.values()].filter((peer) => peer.ready)
  /** Ends a connection, once all that was written is sent. */
  const close = (peer: Peer): void => {
    peer.ready = false
    peer.closing = true
    flush(peer)
  }
  const hangUp = (): void => ready().forEach(close)

  /** Sends what is due; false while a client has to read first, or has to log in again. */
  function step(): boolean {
    const next = steps[at]
    if (next === undefined) return false
    at += 1
    played += 1
    atMs = Math.max(atMs, next.atMs)
    persona.see(next)
    const isMissed = cut !== undefined && played > cut.after && played <= cut.after + cut.missing
    if (!isMissed) for (const peer of ready()) if (peer.conversation?.wants(next)) send(peer, next.bytes)
    if (cut !== undefined && played === cut.after) {
      hangUp()
      while (played < cut.after + cut.missing && step());
      return false
    }
    return true
  }

  const isOnHold = ({ atMs }: Step): boolean =>
    [...pendingHolds].some((hold) => (hold.file ?? 0) === current && atMs >= hold.atMs)

  function play(): void {
    clearTimeout(timer)
    while (!stopped && ready().length > 0) {
      const next = steps[at]
      if (next === undefined) {
        endRecording()
        return
      }
      if (isOnHold(next) || ready().some((peer) => peer.unsent.length > 0)) return
      anchor ??= { wallMs: performance.now(), atMs }
      const waitMs = (next.atMs - anchor.atMs) / speed - (performance.now() - anchor.wallMs)
      if (waitMs >= 1) {
        timer = setTimeout(play, waitMs)
        return
      }
      step()
    }
  }
  function endRecording(): void {
    if (current < recordings.length - 1) {
      hangUp()
      load()
      return
    }
    finish.resolve()
    if (againAfterMs === undefined || again !== undefined) return
    // The next connection lists the channels again, so that a call which the last round left open comes to its end.
    if (recordings.length > 1 || !persona.isQuiet()) hangUp()
    again = setTimeout(beginAgain, againAfterMs)
  }
  function beginAgain(): void {
    again = undefined
    current = -1
    load()
    anchor = undefined
    play()
  }
  function flush(peer: Peer): void {
    if (peer.unsent.length > 0) {
      const sent = peer.socket.write(peer.unsent)
      if (sent > 0) peer.unsent = peer.unsent.subarray(sent)
      if (peer.unsent.length > 0) return
    }
    if (peer.closing) peer.socket.end()
  }

  load()
  for (const hold of pendingHolds)
    void hold.until.then(() => {
      pendingHolds.delete(hold)
      anchor = undefined
      play()
    })
  const server = Bun.listen<undefined>({
    hostname,
    port,
    ...(tls === undefined ? {} : { tls }),
    socket: {
      open(socket) {
        const peer: Peer = { socket, conversation: undefined, unsent: Buffer.alloc(0), ready: false, closing: false }
        peers.set(socket, peer)
        peer.conversation = persona.meet({
          write: (text) => send(peer, text),
          close: () => close(peer),
          begin() {
            if (ready().length === 0) anchor = undefined
            peer.ready = true
            setImmediate(play)
          },
          nowMs: () => atMs,
        })
      },
      data: (socket, chunk) => peers.get(socket)?.conversation?.data(chunk),
      drain(socket) {
        const peer = peers.get(socket)
        if (peer === undefined) return
        flush(peer)
        setImmediate(play)
      },
      close(socket) {
        peers.get(socket)?.conversation?.stop()
        peers.delete(socket)
      },
      error(socket) {
        socket.end()
      },
    },
  })

  return {
    kind,
    port: server.port,
    events: recordings.reduce(
      (sum, recording) => sum + (kind === 'ami' ? createAsterisk() : createFreeswitch()).load(recording).steps.length,
      0,
    ),
    played: () => played,
    clients: () => ready().length,
    finished: finish.promise,
    async stop() {
      stopped = true
      clearTimeout(timer)
      clearTimeout(again)
      for (const peer of peers.values()) peer.conversation?.stop()
      server.stop(true)
    },
  }
}

const personaOf = (kind: Recording['kind']) => (kind === 'ami' ? createAsterisk() : createFreeswitch())
