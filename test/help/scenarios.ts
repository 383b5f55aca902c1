import type { Signal } from '../../src/calls/signal.ts'
import type { Random } from './random.ts'
import {
  answer,
  besideFar,
  connect,
  type Failure,
  fail,
  finish,
  flip,
  joinTo,
  type Phone,
  type Ringing,
  ring,
  type Talk,
  transferBlind,
} from './scenario-moves.ts'
import { type Leg, type Path, type ScenarioPbx, scenarioPbx } from './scenario-pbx.ts'

/**
 * Random scenarios of a PBX, each with the truth: the lines of its calls (as in a `.expected` file), whose order the
 * promises hold. One scenario is one call of a party with everything that follows, and its consultations.
 */
type Scenario = {
  readonly signals: readonly Signal[]
  readonly truth: readonly string[]
  /** Who of the last two who talked handled the call, and when that began. */
  readonly last: { readonly handlers: readonly string[]; readonly fromUs: number } | undefined
}

type Line = string[]
/** One call as it must be emitted. */
type Block = { readonly lines: Line; owner: string; over: boolean }
type Plot = {
  readonly pbx: ScenarioPbx
  readonly random: Random
  readonly blocks: Block[]
  readonly main: Block
  /** Legs that have a stage in the main call, by channel. */
  readonly staged: Map<string, string>
  readonly linked: string
  readonly phone: () => Phone
  readonly outside: () => Phone
}

const PATHS: readonly Path[] = [
  { pairs: 0, stays: true },
  { pairs: 0, stays: true },
  { pairs: 1, stays: true },
  { pairs: 1, stays: false },
  { pairs: 2, stays: true },
]
const stageOf = ({ number, kind }: Phone): string => `${kind === 'extension' ? 'user' : 'external'} ${number}`

export function scenario(random: Random, index: number, startUs: number): Scenario {
  const pbx = scenarioPbx(random, `s${index}`, startUs)
  let count = 0
  const phone = (): Phone => ({ number: `${index + 1}${String(++count).padStart(2, '0')}`, kind: 'extension' })
  const outside = (): Phone => ({ number: `1555${index}${String(++count).padStart(6, '0')}`, kind: 'external' })
  const blocks: Block[] = []
  const begin = random.pick([inbound, inbound, inbound, internal, outbound, agentFirst, customerFirst, older])
  const talk = begin({ pbx, random, blocks, phone, outside })
  const last = talk === undefined ? undefined : goOn(talk.plot, talk.talk)
  const truth = blocks.map(({ lines, owner, over }) => {
    const last = over ? [] : [`call_ended answered owner ${owner}`, 'call_saved recordings 0']
    return [...lines, ...last].toSorted().join('\n')
  })
  return { signals: pbx.signals, truth, last }
}

type Beginning = Pick<Plot, 'pbx' | 'random' | 'blocks' | 'phone' | 'outside'>
type Begun = { plot: Plot; talk: Talk } | undefined

function open(blocks: Block[], ...lines: string[]): Block {
  const block: Block = { lines, owner: '-', over: false }
  blocks.push(block)
  return block
}

function plotOf(beginning: Beginning, linked: string, main: Block): Plot {
  return { ...beginning, main, staged: new Map(), linked }
}

/** It came to nothing more: how it ended. */
function over(block: Block, result: string): void {
  block.lines.push(`call_ended ${result} owner ${block.owner}`, 'call_saved recordings 0')
  block.over = true
}

function inbound(beginning: Beginning): Begun {
  const { pbx, random, blocks, outside } = beginning
  const caller = outside()
  const did = '15550100101'
  const near = pbx.channel(caller.number, 'external', { dialled: did })
  const main = open(blocks, `call_started inbound ${caller.number} ${did}`)
  const plot = plotOf(beginning, near.id, main)
  const talk = random.chance(0.3) ? ringGroup(plot, near, did) : ringOne(plot, near, main)
  return talk === undefined ? undefined : { plot, talk }
}

function internal(beginning: Beginning): Begun {
  const { pbx, blocks, phone } = beginning
  const caller = phone()
  const callee = phone()
  const near = pbx.channel(caller.number, 'extension', { dialled: callee.number })
  const main = open(blocks, `call_started internal ${caller.number} ${callee.number}`)
  const plot = plotOf(beginning, near.id, main)
  const talk = ringOne(plot, near, main, callee)
  return talk === undefined ? undefined : { plot, talk }
}

function outbound(beginning: Beginning): Begun {
  const { pbx, blocks, phone, outside } = beginning
  const caller = phone()
  const callee = outside()
  const near = pbx.channel(caller.number, 'extension', { dialled: `9${callee.number}` })
  const main = open(blocks, `call_started outbound ${caller.number} ${callee.number}`)
  const plot = plotOf(beginning, near.id, main)
  const talk = ringOne(plot, near, main, callee)
  if (talk === undefined) return undefined
  main.owner = caller.number
  return { plot, talk }
}

/** Click-to-call: the PBX rings the agent, then the customer. */
function agentFirst(beginning: Beginning): Begun {
  const { pbx, random, blocks, phone, outside } = beginning
  const agent = phone()
  const customer = outside()
  const near = originate(pbx, agent, random.pick([customer.number, agent.number]))
  const main = open(blocks, `call_started outbound ${agent.number} ${customer.number}`)
  const plot = plotOf(beginning, near.id, main)
  note(plot, main, near, 'started', 'answered')
  pbx.emit({ kind: 'extension_changed', id: near.id, extension: `9${customer.number}` })
  const ringing = ring(pbx, near.id, near.id, customer, { pairs: 0, stays: true })
  pbx.later(2)
  answer(pbx, ringing)
  connect(pbx, near.id, ringing, ringing.leg.id)
  note(plot, main, ringing.leg, 'started', 'answered')
  main.owner = agent.number
  return { plot, talk: { near, far: ringing.leg, chain: [] } }
}

/** A dialler: the PBX rings the customer, then an agent. */
function customerFirst(beginning: Beginning): Begun {
  const { pbx, random, blocks, phone, outside } = beginning
  const agent = phone()
  const customer = outside()
  const near = originate(pbx, customer, '15550100100')
  const main = open(blocks, `call_started outbound 15550100100 ${customer.number}`)
  const plot = plotOf(beginning, near.id, main)
  note(plot, main, near, 'started', 'answered')
  main.owner = customer.number
  pbx.later(random.pick([0.01, 1, 4]))
  pbx.emit({ kind: 'extension_changed', id: near.id, extension: agent.number })
  const talk = ringOne(plot, near, main, agent, 'answered')
  return talk === undefined ? undefined : { plot, talk }
}

function originate(pbx: ScenarioPbx, whom: Phone, shown: string): Leg {
  const leg = pbx.channel(whom.number, whom.kind, { originated: true })
  pbx.dial(null, leg, shown)
  pbx.emit({ kind: 'ringing', id: leg.id })
  pbx.later(1)
  pbx.emit({ kind: 'up', id: leg.id })
  pbx.dialed(null, leg.id, 'answered')
  return leg
}

/** Who asks was there before the caller: the consultation is the older call. */
function older(beginning: Beginning): Begun {
  const { pbx, blocks, phone, outside } = beginning
  const agent = phone()
  const colleague = phone()
  const own = pbx.channel(agent.number, 'extension', { dialled: colleague.number })
  const main = open(blocks, `call_started internal ${agent.number} ${colleague.number}`)
  const plot = plotOf(beginning, own.id, main)
  const asked = ringOne(plot, own, main, colleague, 'answered', 'answer')
  if (asked === undefined) return undefined
  pbx.emit({ kind: 'hold', id: own.id, onHold: true })
  pbx.later(1)
  const caller = outside()
  const near = pbx.channel(caller.number, 'external', { dialled: '15550100102' })
  const second = open(blocks, `call_started inbound ${caller.number} 15550100102`)
  const talk = ringOne(
    { ...plot, linked: near.id, main: second, staged: plot.staged },
    near,
    second,
    agent,
    'answered',
    'answer',
  )
  if (talk === undefined) return undefined
  pbx.later(1)
  joinTo(pbx, talk, own, asked.chain[0]?.near ?? asked.far.id)
  pbx.link(own.id, near.id, ...talk.chain.flatMap((pair) => [pair.near, pair.far]))
  second.over = true
  main.lines.push(`call_attended_transferred by ${agent.number} ${caller.number} to ${colleague.number}`)
  leaves(plot, talk.far)
  main.owner = colleague.number
  return { plot, talk: { near, far: asked.far, chain: [...talk.chain, ...asked.chain] } }
}

/** Notes the events of a leg's stage while its call goes on. */
function note(plot: Plot, block: Block, leg: Leg, ...what: ('started' | 'answered')[]): void {
  for (const one of what) block.lines.push(`dial_${one} ${stageOf(leg)}`)
  if (what.includes('answered') && block === plot.main) plot.staged.set(leg.id, stageOf(leg))
}

/** An answered party is out of the call. */
function leaves(plot: Plot, leg: Leg): void {
  const stage = plot.staged.get(leg.id)
  plot.staged.delete(leg.id)
  if (stage !== undefined) plot.main.lines.push(`dial_ended ${stage} answered`)
}

function takesOver(block: Block, leg: Leg): void {
  if (leg.kind === 'extension' || block.owner === '-') block.owner = leg.number
}

const RESULT_OF: Readonly<Record<Failure, string>> = {
  no_answer: 'no_answer',
  busy: 'busy',
  rejected: 'no_answer',
  cancelled: 'cancelled',
  answered_elsewhere: 'no_answer',
}

type Outcome = 'answer' | 'pick up' | Failure

/** Rings a phone for a channel: it is answered, by itself or by who picks it up, or the call is over. */
function ringOne(
  plot: Plot,
  near: Leg,
  block: Block,
  whom: Phone = plot.phone(),
  unanswered: string | null = null,
  forced?: Outcome,
): Talk | undefined {
  const { pbx, random } = plot
  const ringing = ring(pbx, near.id, plot.linked, whom, random.pick(PATHS))
  note(plot, block, ringing.leg, 'started')
  pbx.later(random.pick([0.5, 3]))
  const outcome: Outcome =
    forced ??
    random.pick(['answer', 'answer', 'answer', 'answer', 'pick up', 'no_answer', 'busy', 'rejected', 'cancelled'])
  return conclude(plot, { near, chain: [] }, ringing, outcome, { block, unanswered })
}

type Line2 = { readonly near: Leg; readonly chain: Talk['chain'] }

/**
 * Ends the ringing of a phone at the end of a line from the near party; `unanswered` is the result of the call without
 * it.
 */
function conclude(
  plot: Plot,
  line: Line2,
  ringing: Ringing,
  outcome: Outcome,
  { block, unanswered }: { block: Block; unanswered: string | null },
): Talk | undefined {
  const { pbx } = plot
  const beside = line.chain.at(-1)?.far ?? line.near.id
  if (outcome === 'pick up' && ringing.leg.kind === 'extension') return pickUp(plot, line, ringing, block)
  if (outcome === 'answer' || outcome === 'pick up') {
    answer(pbx, ringing)
    const chain = connect(pbx, beside, ringing, ringing.leg.id)
    pbx.link(plot.linked, ringing.leg.id)
    note(plot, block, ringing.leg, 'answered')
    takesOver(block, ringing.leg)
    if (block === plot.main) ownedBy(plot, { near: line.near, far: ringing.leg, chain: [] })
    return { near: line.near, far: ringing.leg, chain: [...line.chain, ...chain] }
  }
  if (outcome === 'cancelled') pbx.emit({ kind: 'hangup_requested', id: line.near.id })
  fail(pbx, ringing, outcome)
  block.lines.push(`dial_ended ${stageOf(ringing.leg)} ${outcome}`)
  pbx.hangup(line.near.id)
  for (const { near, far } of line.chain) for (const half of [near, far]) pbx.hangup(half)
  leaves(plot, line.near)
  over(block, unanswered ?? RESULT_OF[outcome])
  return undefined
}

/** A third phone picks the call up with a feature code, which may take a while. */
function pickUp(plot: Plot, line: Line2, ringing: Ringing, block: Block): Talk {
  const { pbx, random } = plot
  const whom = plot.phone()
  const leg = pbx.channel(whom.number, 'extension', { dialled: random.pick(['*8', `*9${ringing.leg.number}`]) })
  pbx.emit({ kind: 'up', id: leg.id })
  const delay = random.pick([0.01, 1, 6, 16])
  pbx.later(delay)
  if (delay > 10) {
    const late = open(plot.blocks, `call_started internal ${leg.number} ${pbx.dialledOf(leg.id)}`)
    over(late, 'answered')
  }
  pbx.emit({ kind: 'joined', id: leg.id, into: ringing.leg.id })
  answer(pbx, ringing, leg.id)
  pbx.hangup(ringing.leg.id, { ...ENDED_ELSEWHERE })
  const beside = line.chain.at(-1)?.far ?? line.near.id
  const chain = connect(pbx, beside, { ...ringing, path: { ...ringing.path, stays: true } }, leg.id)
  pbx.link(plot.linked, leg.id)
  block.lines.push(`dial_ended ${stageOf(ringing.leg)} answered_elsewhere`)
  note(plot, block, leg, 'answered')
  takesOver(block, leg)
  return { near: line.near, far: leg, chain: [...line.chain, ...chain] }
}

const ENDED_ELSEWHERE = {
  code: 26,
  result: 'answered_elsewhere',
  withdrawn: false,
  mayTransfer: false,
  forwardedTo: null,
} as const

/** Rings several phones at once: one of them answers, or none does. */
function ringGroup(plot: Plot, near: Leg, place: string): Talk | undefined {
  const { pbx, random, main } = plot
  const all = Array.from({ length: 2 + random.int(2) }, () =>
    ring(pbx, near.id, plot.linked, plot.phone(), random.pick(PATHS)),
  )
  for (const { leg } of all) note(plot, main, leg, 'started')
  pbx.later(2)
  const outcome = random.pick(['answered', 'answered', 'no_answer', 'cancelled'] as const)
  const winner = outcome === 'answered' ? random.pick(all) : undefined
  main.lines.push(`dial_ended group ${place} ${outcome}`)
  if (outcome === 'cancelled') pbx.emit({ kind: 'hangup_requested', id: near.id })
  const lose = (): void => {
    for (const one of all) {
      if (one === winner) continue
      const how = winner === undefined ? (outcome === 'cancelled' ? 'cancelled' : 'no_answer') : 'answered_elsewhere'
      fail(pbx, one, how)
      main.lines.push(`dial_ended ${stageOf(one.leg)} ${how}`)
    }
  }
  if (winner === undefined) {
    lose()
    pbx.hangup(near.id)
    over(main, outcome)
    return undefined
  }
  const isBefore = random.chance(0.5)
  if (isBefore) lose()
  const talk = conclude(plot, { near, chain: [] }, winner, 'answer', { block: main, unanswered: null })
  if (!isBefore) lose()
  return talk
}

type Move = (plot: Plot, talk: Talk) => Talk | undefined

/** Continues a talk of two parties: transfers, parking, and finally the end. */
function goOn(plot: Plot, begun: Talk): Scenario['last'] {
  const { pbx, random } = plot
  let talk: Talk | undefined = begun
  for (let moves = random.int(4); moves > 0 && talk !== undefined; moves--) {
    pbx.later(random.pick([0.4, 2]))
    const facing: Talk | undefined = facingExtension(random, talk)
    if (facing === undefined) break
    talk = random.pick<Move>([blind, blind, consultByPhone, consultByPhone, consultByKey, consultByKey, park])(
      plot,
      facing,
    )
  }
  if (talk === undefined) return undefined
  const fromUs = pbx.nowUs()
  pbx.later(2)
  const by = random.pick([talk.near, talk.far, null])
  ownedBy(plot, talk)
  const handlers = [talk.near, talk.far].filter((leg) => leg.kind === 'extension' && plot.staged.has(leg.id))
  finish(pbx, talk, by)
  for (const leg of [talk.near, talk.far]) leaves(plot, leg)
  return { handlers: handlers.map(({ number }) => number), fromUs }
}

/** The owner is in the last conversation, where any of those is who handled the call. */
function ownedBy({ main, staged }: Plot, { near, far }: Talk): void {
  const handlers = [near, far].filter((leg) => leg.kind === 'extension' && staged.has(leg.id))
  if (handlers.length === 0 || handlers.some(({ number }) => number === main.owner)) return
  main.owner = handlers.at(-1)?.number ?? '-'
}

/** The talk with a party at its far end that may transfer. */
function facingExtension(random: Random, talk: Talk): Talk | undefined {
  const ways = [talk, flip(talk)].filter(({ far }) => far.kind === 'extension')
  return ways.length === 0 ? undefined : random.pick(ways)
}

const target = ({ random, phone, outside }: Plot): Phone => (random.chance(0.15) ? outside() : phone())
const nearOf = (talk: Talk): Leg => talk.near

const blind: Move = (plot, talk) => {
  const { pbx, random, main } = plot
  const whom = target(plot)
  const beside = transferBlind(pbx, talk, whom.number)
  main.lines.push(`call_blind_transferred by ${talk.far.number} ${nearOf(talk).number} to ${whom.number}`)
  leaves(plot, talk.far)
  const isEarly = random.chance(0.7)
  if (isEarly) pbx.hangup(talk.far.id)
  const ringing = ring(pbx, beside, plot.linked, whom, random.pick(PATHS))
  if (!isEarly) pbx.hangup(talk.far.id)
  note(plot, main, ringing.leg, 'started')
  pbx.later(2)
  const outcome = random.pick<Outcome>(['answer', 'answer', 'answer', 'pick up', 'no_answer', 'busy', 'cancelled'])
  return conclude(plot, talk, ringing, outcome, { block: main, unanswered: 'answered' })
}

/** The phone's transfer key: the consultation is a separate call on a second line. */
const consultByPhone: Move = (plot, talk) => {
  const { pbx, random, main } = plot
  const agent = talk.far
  const whom = target(plot)
  pbx.emit({ kind: 'hold', id: agent.id, onHold: true })
  const own = pbx.channel(agent.number, 'extension', {
    dialled: whom.kind === 'external' ? `9${whom.number}` : whom.number,
  })
  const direction = whom.kind === 'external' ? 'outbound' : 'internal'
  const asked = open(
    plot.blocks,
    `call_started ${direction} ${agent.number} ${whom.number}`,
    `dial_started ${stageOf(whom)}`,
  )
  const ringing = ring(pbx, own.id, own.id, whom, random.pick(PATHS))
  pbx.later(2)
  const outcome = random.pick<Outcome | 'blond'>(['answer', 'answer', 'answer', 'blond', 'no_answer', 'busy'])
  if (outcome === 'blond') {
    asked.over = true
    return blond(plot, talk, own, ringing)
  }
  if (outcome !== 'answer') {
    fail(pbx, ringing, outcome === 'busy' ? 'busy' : 'no_answer')
    asked.lines.push(`dial_ended ${stageOf(whom)} ${outcome}`)
    pbx.hangup(own.id)
    over(asked, outcome)
    pbx.later(0.5)
    pbx.emit({ kind: 'hold', id: agent.id, onHold: false })
    return talk
  }
  answer(pbx, ringing)
  const chain = connect(pbx, own.id, ringing, ringing.leg.id)
  asked.lines.push(`dial_answered ${stageOf(whom)}`)
  pbx.later(1)
  joinTo(pbx, talk, own, chain[0]?.near ?? ringing.leg.id)
  pbx.link(plot.linked, ringing.leg.id, ...chain.flatMap((pair) => [pair.near, pair.far]))
  asked.over = true
  return transferred(plot, talk, main, ringing.leg, chain)
}

/** The parties were joined: who transferred is out, and who was asked is in the call. */
function transferred(plot: Plot, talk: Talk, main: Block, far: Leg, chain: Talk['chain']): Talk {
  main.lines.push(`call_attended_transferred by ${talk.far.number} ${talk.near.number} to ${far.number}`)
  leaves(plot, talk.far)
  plot.staged.set(far.id, stageOf(far))
  takesOver(main, far)
  ownedBy(plot, { near: talk.near, far, chain: [] })
  return { near: talk.near, far, chain: [...talk.chain, ...chain] }
}

/** The transferer does not wait for the answer: the near party takes the place of the channel that dials. */
function blond(plot: Plot, talk: Talk, own: Leg, ringing: Ringing): Talk | undefined {
  const { pbx, random, main } = plot
  const beside = besideFar(talk)
  pbx.emit({
    kind: 'attended_transfer',
    transferers: [talk.far.id, own.id],
    transferee: beside,
    target: null,
    stays: false,
  })
  pbx.leave(beside)
  pbx.hangup(talk.far.id)
  pbx.hangup(own.id)
  main.lines.push(`call_attended_transferred by ${talk.far.number} ${talk.near.number} to ${ringing.leg.number}`)
  leaves(plot, talk.far)
  pbx.later(1)
  const outcome = random.pick<Outcome>(['answer', 'answer', 'no_answer', 'cancelled'])
  return conclude(plot, talk, { ...ringing, source: beside }, outcome, { block: main, unanswered: 'answered' })
}

/** A feature code: the PBX consults through its own halves, within the same call. */
const consultByKey: Move = (plot, talk) => {
  const { pbx, random, main } = plot
  const agent = talk.far
  const beside = besideFar(talk)
  const home = pbx.bridgeOf(beside)
  const whom = target(plot)
  const pair = pbx.pair(plot.linked, whom.number)
  const aside = pbx.id()
  const isEarly = random.chance(0.5)
  const step = (): void => {
    pbx.enter(pair.near, aside)
    pbx.enter(agent.id, aside)
  }
  if (isEarly) step()
  const ringing = ring(pbx, pair.far, plot.linked, whom, random.pick(PATHS))
  if (!isEarly) step()
  const direction = whom.kind === 'external' ? 'outbound' : 'internal'
  const asked = open(
    plot.blocks,
    `call_started ${direction} ${agent.number} ${whom.number}`,
    `dial_started ${stageOf(whom)}`,
  )
  pbx.later(2)
  const outcome = random.pick(['answer', 'answer', 'answer', 'blond', 'no_answer'] as const)
  const done = (targetId: string | null): void => {
    pbx.emit({ kind: 'hangup_requested', id: agent.id })
    pbx.leave(agent.id)
    if (home !== null) pbx.enter(pair.near, home)
    pbx.emit({
      kind: 'attended_transfer',
      transferers: [agent.id, agent.id],
      transferee: beside,
      target: targetId,
      stays: false,
    })
    asked.over = true
  }
  if (outcome === 'no_answer') {
    fail(pbx, ringing, 'no_answer')
    for (const half of [pair.far, pair.near]) pbx.hangup(half)
    if (home !== null) pbx.enter(agent.id, home)
    asked.lines.push(`dial_ended ${stageOf(whom)} no_answer`)
    over(asked, 'no_answer')
    return talk
  }
  if (outcome === 'blond') {
    done(null)
    main.lines.push(`call_attended_transferred by ${agent.number} ${talk.near.number} to ${whom.number}`)
    leaves(plot, agent)
    return blondByKey(plot, { ...talk, chain: [...talk.chain, pair] }, ringing)
  }
  answer(pbx, ringing)
  const chain = connect(pbx, pair.far, ringing, ringing.leg.id)
  asked.lines.push(`dial_answered ${stageOf(whom)}`)
  pbx.later(1)
  done(random.pick([pair.near, null]))
  pbx.hangup(agent.id)
  return transferred(plot, talk, main, ringing.leg, [pair, ...chain])
}

/** If nobody answers, the PBX rings the transferer back. */
function blondByKey(plot: Plot, talk: Talk, ringing: Ringing): Talk | undefined {
  const { pbx, random, main } = plot
  pbx.later(2)
  const outcome = random.pick(['answer', 'cancelled', 'rings back', 'rings back'] as const)
  if (outcome !== 'rings back') {
    pbx.hangup(talk.far.id)
    return conclude(plot, talk, ringing, outcome, { block: main, unanswered: 'answered' })
  }
  fail(pbx, ringing, 'no_answer')
  main.lines.push(`dial_ended ${stageOf(ringing.leg)} no_answer`)
  const pair = talk.chain.at(-1)
  if (pair !== undefined) for (const half of [pair.far, pair.near]) pbx.hangup(half)
  const line = { near: talk.near, chain: talk.chain.slice(0, -1) }
  const back = pbx.channel(talk.far.number, 'extension', { originated: true })
  pbx.dial(null, back, talk.near.number)
  pbx.emit({ kind: 'ringing', id: back.id })
  note(plot, main, back, 'started')
  pbx.later(1)
  const ringingBack: Ringing = { leg: back, chain: [], source: '', path: { pairs: 0, stays: true } }
  if (random.chance(0.3)) {
    pbx.hangup(talk.far.id)
    return conclude(plot, line, { ...ringingBack, source: line.chain.at(-1)?.far ?? line.near.id }, 'cancelled', {
      block: main,
      unanswered: 'answered',
    })
  }
  pbx.emit({ kind: 'up', id: back.id })
  pbx.dialed(null, back.id, 'answered')
  pbx.hangup(talk.far.id)
  pbx.bridge(line.chain.at(-1)?.far ?? line.near.id, back.id)
  pbx.link(plot.linked, back.id)
  note(plot, main, back, 'answered')
  takesOver(main, back)
  return { near: line.near, far: back, chain: line.chain }
}

/** The near party is parked, and another phone takes it from there. */
const park: Move = (plot, talk) => {
  const { pbx, random, main } = plot
  const beside = besideFar(talk)
  const slot = `7${talk.far.number}`
  const isOneTouch = random.chance(0.4)
  const parker = { kind: 'extension', number: talk.far.number, name: null } as const
  if (!isOneTouch) pbx.emit({ kind: 'blind_transfer', transferer: talk.far.id, transferee: beside, to: '700' })
  pbx.emit({ kind: 'parked', id: beside, slot, parker, to: '700' })
  pbx.enter(beside, 'lot', true)
  pbx.leave(talk.far.id)
  pbx.hangup(talk.far.id)
  main.lines.push(`call_blind_transferred by ${talk.far.number} ${talk.near.number} to 700`)
  leaves(plot, talk.far)
  pbx.later(2)
  const whom = plot.phone()
  const leg = pbx.channel(whom.number, 'extension', { dialled: random.pick([slot, '*93']) })
  pbx.emit({ kind: 'up', id: leg.id })
  pbx.later(random.pick([0.01, 0.6, 5]))
  pbx.emit({ kind: 'joined', id: leg.id, into: beside })
  pbx.bridge(beside, leg.id)
  pbx.link(plot.linked, leg.id)
  note(plot, main, leg, 'answered')
  takesOver(main, leg)
  return { near: talk.near, far: leg, chain: talk.chain }
}
