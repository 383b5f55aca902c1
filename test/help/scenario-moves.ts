import { ENDS, type Leg, type Pair, type Path, type ScenarioPbx } from './scenario-pbx.ts'

/** What dialplans and people do with channels, in Asterisk's terms. */

/** A phone that rings for a channel, through pairs of halves that stand in line from the channel to the phone. */
export type Ringing = {
  readonly leg: Leg
  readonly chain: readonly Pair[]
  readonly source: string
  readonly path: Path
}
/** Two parties that talk, through pairs of halves from `near` to `far`. */
export type Talk = { readonly near: Leg; readonly far: Leg; readonly chain: readonly Pair[] }

export const flip = ({ near, far, chain }: Talk): Talk => ({
  near: far,
  far: near,
  chain: chain.toReversed().map((pair) => ({ near: pair.far, far: pair.near })),
})
/** The channel that is in a bridge with the far party: the half before it, or the near party itself. */
export const besideFar = ({ near, chain }: Talk): string => chain.at(-1)?.far ?? near.id

export type Phone = { readonly number: string; readonly kind: Leg['kind'] }

export function ring(pbx: ScenarioPbx, source: string, linked: string, phone: Phone, path: Path): Ringing {
  const chain: Pair[] = []
  let from = source
  for (let count = 0; count < path.pairs; count++) {
    const pair = pbx.pair(linked, phone.number)
    pbx.dial(from, pair.near)
    chain.push(pair)
    from = pair.far
  }
  const leg = pbx.channel(phone.number, phone.kind, { linked })
  pbx.dial(from, leg)
  pbx.emit({ kind: 'ringing', id: leg.id })
  return { leg, chain, source, path }
}

/** Who dialled the leg and each half before it, from the outermost on. */
const dialsOf = ({ leg, chain, source }: Ringing): { source: string; dest: string }[] => {
  const sources = [source, ...chain.map(({ far }) => far)]
  return [...chain.map(({ near }) => near), leg.id].map((dest, index) => ({ source: sources[index] ?? source, dest }))
}

export function answer(pbx: ScenarioPbx, ringing: Ringing, by = ringing.leg.id): void {
  pbx.emit({ kind: 'up', id: by })
  const [inner, ...outer] = dialsOf(ringing).toReversed()
  if (inner !== undefined) pbx.dialed(inner.source, by, 'answered')
  for (const { source, dest } of outer) {
    pbx.emit({ kind: 'up', id: dest })
    pbx.dialed(source, dest, 'answered')
  }
}

/** Each party in line is bridged with the next; halves that do not stay are removed. @returns the halves that are left. */
export function connect(pbx: ScenarioPbx, beside: string, { chain, path }: Ringing, far: string): readonly Pair[] {
  const line = [beside, ...chain.flatMap((pair) => [pair.near, pair.far]), far]
  for (let index = line.length - 2; index >= 0; index -= 2) pbx.bridge(...line.slice(index, index + 2))
  if (path.stays || chain.length === 0) return chain
  pbx.later(0.02)
  const bridge = pbx.bridgeOf(far)
  if (bridge !== null) pbx.enter(beside, bridge)
  for (const { near, far: half } of chain) for (const one of [near, half]) pbx.hangup(one)
  return []
}

export type Failure = 'no_answer' | 'busy' | 'rejected' | 'cancelled' | 'answered_elsewhere'

const LEG_END = {
  no_answer: ENDS.timeout,
  busy: ENDS.busy,
  rejected: ENDS.rejected,
  cancelled: ENDS.clear,
  answered_elsewhere: ENDS.elsewhere,
} as const
/** The result in DialEnd. */
const DIALED = {
  no_answer: 'no_answer',
  busy: 'busy',
  rejected: 'no_answer',
  cancelled: 'cancelled',
  answered_elsewhere: 'cancelled',
} as const

export function fail(pbx: ScenarioPbx, ringing: Ringing, how: Failure): void {
  const [inner, ...outer] = dialsOf(ringing).toReversed()
  const isOwnWord = how === 'busy' || how === 'rejected'
  // The phone's own result comes from the inner dial. All other results come from the outermost dial, and the inner
  // dial is only cancelled.
  const innerResult = isOwnWord || outer.length === 0 ? DIALED[how] : 'cancelled'
  if (inner !== undefined && isOwnWord) pbx.dialed(inner.source, inner.dest, innerResult)
  for (const { source, dest } of outer.toReversed()) pbx.dialed(source, dest, DIALED[how])
  if (inner !== undefined && !isOwnWord) pbx.dialed(inner.source, inner.dest, innerResult)
  pbx.hangup(ringing.leg.id, LEG_END[how])
  for (const { near, far } of ringing.chain) for (const half of [near, far]) pbx.hangup(half)
}

/** The far party transfers the near one blindly. @returns the channel that continues in the dialplan. */
export function transferBlind(pbx: ScenarioPbx, talk: Talk, to: string): string {
  const beside = besideFar(talk)
  pbx.emit({ kind: 'blind_transfer', transferer: talk.far.id, transferee: beside, to })
  for (const one of pbx.random.chance(0.5) ? [talk.far.id, beside] : [beside, talk.far.id]) pbx.leave(one)
  pbx.emit({ kind: 'extension_changed', id: beside, extension: to })
  return beside
}

/** Joins whom the far party talked with to `target`, which is the next in line behind it. The transferer is out. */
export function joinTo(pbx: ScenarioPbx, talk: Talk, own: Leg, target: string): void {
  const beside = besideFar(talk)
  const bridge = pbx.bridgeOf(own.id)
  const move = (): void => {
    pbx.leave(own.id)
    if (bridge !== null) pbx.enter(beside, bridge)
  }
  // Asterisk mostly has moved everybody before it reports the transfer.
  const isBefore = pbx.random.chance(0.8)
  if (isBefore) move()
  pbx.emit({ kind: 'attended_transfer', transferers: [talk.far.id, own.id], transferee: beside, target, stays: false })
  if (!isBefore) move()
  pbx.hangup(talk.far.id)
  pbx.hangup(own.id)
}

/** Hangs up all channels of a talk; `by` hung up by itself. */
export function finish(pbx: ScenarioPbx, talk: Talk, by: Leg | null): void {
  if (by !== null) pbx.emit({ kind: 'hangup_requested', id: by.id })
  const order = by?.id === talk.far.id ? [talk.far, talk.near] : [talk.near, talk.far]
  const halves = talk.chain.flatMap(({ near, far }) => [near, far])
  for (const channelId of [...order.slice(0, 1).map(({ id }) => id), ...halves, ...order.slice(1).map(({ id }) => id)])
    pbx.hangup(channelId)
}
