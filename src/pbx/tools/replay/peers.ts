import type { Socket } from 'bun'
import type { Conversation, Persona, ReplayClient } from '../../recorded/persona.ts'
import type { RecordedStep } from '../../recorded/recording.ts'

type Peer = {
  readonly socket: Socket<unknown>
  conversation: Conversation | undefined
  unsent: Buffer
  isReady: boolean
  isClosing: boolean
}

/** The clients of a replayed PBX. */
export type Peers = {
  add(socket: Socket<unknown>, persona: Persona, client: Pick<ReplayClient, 'begin' | 'nowMs'>): void
  receive(socket: Socket<unknown>, chunk: Uint8Array): void
  /** Sends the rest after the socket was full. */
  drain(socket: Socket<unknown>): void
  remove(socket: Socket<unknown>): void
  ready(): number
  /** Returns whether a logged-in client has not read everything yet. */
  areBehind(): boolean
  /** Sends an event to the clients that asked for it. */
  send(step: RecordedStep): void
  /** Closes all connections once everything is sent. */
  hangUp(): void
  stop(): void
}

export function createPeers(): Peers {
  const peers = new Map<Socket<unknown>, Peer>()

  const readyPeers = (): Peer[] => [...peers.values()].filter((peer) => peer.isReady)
  const flush = (peer: Peer): void => {
    if (peer.unsent.length > 0) {
      const sent = peer.socket.write(peer.unsent)
      if (sent > 0) peer.unsent = peer.unsent.subarray(sent)
      if (peer.unsent.length > 0) return
    }
    if (peer.isClosing) peer.socket.end()
  }
  const write = (peer: Peer, bytes: Buffer | string): void => {
    peer.unsent = Buffer.concat([peer.unsent, Buffer.from(bytes)])
    flush(peer)
  }
  const close = (peer: Peer): void => {
    peer.isReady = false
    peer.isClosing = true
    flush(peer)
  }

  return {
    add(socket, persona, { begin, nowMs }) {
      const peer: Peer = { socket, conversation: undefined, unsent: Buffer.alloc(0), isReady: false, isClosing: false }
      peers.set(socket, peer)
      peer.conversation = persona.connect({
        write: (text) => write(peer, text),
        close: () => close(peer),
        begin() {
          begin()
          peer.isReady = true
        },
        nowMs,
      })
    },
    receive: (socket, chunk) => peers.get(socket)?.conversation?.data(chunk),
    drain(socket) {
      const peer = peers.get(socket)
      if (peer !== undefined) flush(peer)
    },
    remove(socket) {
      peers.get(socket)?.conversation?.stop()
      peers.delete(socket)
    },
    ready: () => readyPeers().length,
    areBehind: () => readyPeers().some((peer) => peer.unsent.length > 0),
    send(step) {
      for (const peer of readyPeers()) if (peer.conversation?.wants(step)) write(peer, step.bytes)
    },
    hangUp: () => readyPeers().forEach(close),
    stop() {
      for (const peer of peers.values()) peer.conversation?.stop()
    },
  }
}
