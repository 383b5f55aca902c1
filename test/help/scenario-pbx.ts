import type { ChannelSignal, End, Endpoint, Signal, SnapshotChannel } from '../../src/calls/signal.ts'
import type { Random } from './random.ts'

/** A PBX for scenarios: it emits its changes as signals in Asterisk's order, and knows which channels are up. */

export type Leg = { readonly id: string; readonly number: string; readonly kind: 'extension' | 'external' }
/** Two virtual halves between two parties: `near` is on the side of the one who is named first. */
export type Pair = { readonly near: string; readonly far: string }
/** How a phone is dialled: through `pairs` pairs of halves, which stay or are optimised away at the answer. */
export type Path = { readonly pairs: number; readonly stays: boolean }

export type ScenarioPbx = ReturnType<typeof scenarioPbx>

const VIRTUAL: Endpoint = { kind: 'virtual', number: null, name: null }
const END = { mayTransfer: false, forwardedTo: null } as const
/** How channels end, as the translator emits it. */
export const ENDS = {
  clear: { ...END, code: 16, result: 'no_answer', withdrawn: true },
  timeout: { ...END, code: null, result: 'no_answer', withdrawn: true },
  busy: { ...END, code: 17, result: 'busy', withdrawn: false },
  rejected: { ...END, code: 21, result: 'rejected', withdrawn: false },
  elsewhere: { ...END, code: 26, result: 'answered_elsewhere', withdrawn: false },
} as const satisfies Record<string, End>

const endpointOf = ({ kind, number }: Leg): Endpoint => ({ kind, number, name: null })

/** Keeps the channels that are up, as the PBX's list would show them. */
export function createUp() {
  const up = new Map<string, SnapshotChannel>()
  function change(channelId: string, changes: Partial<SnapshotChannel>): void {
    const row = up.get(channelId)
    if (row !== undefined) up.set(channelId, { ...row, ...changes })
  }
  return {
    rows: up,
    follow(signal: Signal): void {
      switch (signal.kind) {
        case 'channel':
          up.set(signal.id, {
            id: signal.id,
            linkedId: signal.linkedId,
            endpoint: signal.endpoint,
            dialledNumber: signal.dialledNumber,
            callee: false,
            source: null,
            up: false,
            ringing: false,
            bridge: null,
            startedUs: signal.atUs,
          })
          break
        case 'pair':
          change(signal.one, { pair: { id: signal.two, half: 1 } })
          change(signal.two, { pair: { id: signal.one, half: 2 } })
          break
        case 'dial_begin':
          change(signal.dest, { callee: true })
          break
        case 'ringing':
          change(signal.id, { ringing: true })
          break
        case 'up':
          change(signal.id, { up: true, ringing: false })
          break
        case 'linked':
          change(signal.id, { linkedId: signal.linkedId })
          break
        case 'bridged':
          change(signal.id, { bridge: signal.bridge, up: true })
          break
        case 'unbridged':
          change(signal.id, { bridge: null })
          break
        case 'hangup':
          up.delete(signal.id)
          break
      }
    },
  }
}

export function scenarioPbx(random: Random, prefix: string, startUs: number) {
  const signals: Signal[] = []
  const { rows: up, follow } = createUp()
  let atUs = startUs
  let count = 0

  const id = (): string => `${prefix}.${++count}`
  const pbx = {
    random,
    signals,
    id,
    nowUs: (): number => atUs,
    emit(...more: ChannelSignal[]): void {
      for (const signal of more) {
        const stamped = { ...signal, atUs, arrivedUs: atUs }
        signals.push(stamped)
        follow(stamped)
        atUs += random.pick([0, 0, 0, 1_000])
      }
    },
    /** Advances the time by about this much. */
    later(seconds: number): void {
      atUs += Math.round(seconds * 1_000_000 * (0.7 + 0.6 * random.next()))
    },
    isUp: (channelId: string): boolean => up.has(channelId),
    linkedOf: (channelId: string): string => up.get(channelId)?.linkedId ?? channelId,
    dialledOf: (channelId: string): string => up.get(channelId)?.dialledNumber ?? '-',
    bridgeOf: (channelId: string): string | null => up.get(channelId)?.bridge ?? null,

    channel(
      number: string,
      kind: Leg['kind'],
      of: { linked?: string; dialled?: string; originated?: boolean } = {},
    ): Leg {
      const leg = { id: id(), number, kind }
      pbx.emit({
        kind: 'channel',
        id: leg.id,
        linkedId: of.linked ?? leg.id,
        endpoint: endpointOf(leg),
        dialledNumber: of.dialled ?? 's',
        originated: of.originated === true,
        shown: null,
      })
      return leg
    },
    /** Two halves of a Local channel; `dialled` is where the second runs the dialplan. */
    pair(linked: string, dialled: string): Pair {
      const pair = { near: id(), far: id() }
      for (const half of [pair.near, pair.far])
        pbx.emit({
          kind: 'channel',
          id: half,
          linkedId: linked,
          endpoint: VIRTUAL,
          dialledNumber: dialled,
          originated: false,
          shown: null,
        })
      pbx.emit({ kind: 'pair', one: pair.near, two: pair.far })
      return pair
    },
    dial(source: string | null, dest: Leg | string, shown: string | null = null): void {
      const leg =
        typeof dest === 'string' ? { id: dest, endpoint: VIRTUAL } : { id: dest.id, endpoint: endpointOf(dest) }
      pbx.emit({ kind: 'dial_begin', source, dest: leg.id, endpoint: leg.endpoint, shown })
    },
    dialed(source: string | null, dest: string, result: Extract<ChannelSignal, { kind: 'dial_end' }>['result']): void {
      pbx.emit({ kind: 'dial_end', source, dest, result, forwardedTo: null })
    },
    /** Puts channels into one new bridge, in random order. */
    bridge(...ids: string[]): void {
      const bridge = id()
      const order = random.chance(0.5) ? ids : ids.toReversed()
      for (const one of order) pbx.enter(one, bridge)
    },
    enter(channelId: string, bridge: string, waiting = false): void {
      pbx.leave(channelId)
      pbx.emit({ kind: 'bridged', id: channelId, bridge, conference: false, holding: waiting })
    },
    leave(channelId: string): void {
      const bridge = pbx.bridgeOf(channelId)
      if (bridge !== null) pbx.emit({ kind: 'unbridged', id: channelId, bridge })
    },
    hangup(channelId: string, end: End = ENDS.clear): void {
      if (!up.has(channelId)) return
      pbx.leave(channelId)
      pbx.emit({ kind: 'hangup', id: channelId, end })
    },
    /** Counts channels to another call from now on, as events happen to show it. */
    link(linkedId: string, ...ids: string[]): void {
      for (const one of ids)
        if (up.has(one) && pbx.linkedOf(one) !== linkedId) pbx.emit({ kind: 'linked', id: one, linkedId })
    },
  }
  return pbx
}
