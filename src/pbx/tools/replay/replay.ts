import { KINDS } from '../../kinds.ts'
import { type PbxRecording, readRecording } from '../../recorded/recording.ts'
import { PBX_FACTS, PBX_PROTOCOLS, type PbxKind, PROTOCOL_NAMES } from '../../source/pbx-facts.ts'
import { hostAndPort } from '../../source/pbx-url.ts'
import { createPeers } from './peers.ts'
import { createPlayer, type Hold, type PlayerOptions } from './player.ts'

type ReplayOptions = Partial<Pick<PlayerOptions, 'holds' | 'speed' | 'cut' | 'againAfterMs'>> & {
  /**
   * Recordings of one PBX, or their files. At the end of each the connection is closed, and the next login begins the
   * next one.
   */
  readonly files: readonly (string | PbxRecording)[]
  /** All events also wait for this. */
  readonly after?: Promise<unknown>
  readonly hostname?: string
  readonly port?: number
  /** Certificate and key (PEM) of an `amis://` PBX. */
  readonly tls?: { readonly cert: string; readonly key: string }
}

type Replay = {
  readonly kind: PbxKind
  readonly port: number
  /** The PBX URL with one of the logins that are right: all are. */
  readonly url: string
  /** The number of events in the recordings. */
  readonly events: number
  played(): number
  isOnHold(): boolean
  clients(): number
  /** Resolves when the last event of the last recording was sent, for the first time. */
  readonly finished: Promise<void>
  stop(): Promise<void>
}

/** Plays recordings as a PBX. Events begin when a client has logged in, and wait while no client is. */
export function startReplay(options: ReplayOptions): Replay {
  const { files, after, hostname = '127.0.0.1', port = 0, speed = 1, cut, tls, againAfterMs } = options
  const recordings = files.map((file) => (typeof file === 'string' ? readRecording(file) : file))
  const kind = recordings[0]?.kind ?? 'asterisk'
  const { createPersona } = KINDS[kind]
  const persona = createPersona()
  const peers = createPeers()
  const holds: readonly Hold[] = [...(after === undefined ? [] : [{ atMs: 0, until: after }]), ...(options.holds ?? [])]
  const player = createPlayer({ recordings, persona, peers, holds, speed, cut, againAfterMs })
  const begin = (): void => {
    if (peers.ready() === 0) player.pause()
    setImmediate(player.play)
  }
  const server = Bun.listen<undefined>({
    hostname,
    port,
    ...(tls === undefined ? {} : { tls }),
    socket: {
      open: (socket) => peers.add(socket, persona, { begin, nowMs: player.nowMs }),
      data: (socket, chunk) => peers.receive(socket, chunk),
      drain(socket) {
        peers.drain(socket)
        setImmediate(player.play)
      },
      close(socket) {
        peers.remove(socket)
        // The others may have waited for this one to read.
        setImmediate(player.play)
      },
      error: (socket) => void socket.end(),
    },
  })

  return {
    kind,
    port: server.port,
    url: `${schemeOf(kind, tls !== undefined)}://${PBX_FACTS[kind].hasUser ? 'any' : ''}:any@${hostAndPort({ host: hostname, port: server.port })}`,
    events: recordings.reduce((sum, recording) => sum + createPersona().load(recording).steps.length, 0),
    played: player.played,
    isOnHold: player.isOnHold,
    clients: peers.ready,
    finished: player.finished,
    async stop() {
      player.stop()
      peers.stop()
      server.stop(true)
    },
  }
}

function schemeOf(kind: PbxKind, isOverTls: boolean): string {
  const found = PROTOCOL_NAMES.find((name) => {
    const protocol = PBX_PROTOCOLS[name]
    return protocol.kind === kind && protocol.isOverTls === isOverTls
  })
  if (found === undefined) throw new Error(`no protocol of ${PBX_FACTS[kind].title} has TLS`)
  return found
}
