import { type Fifo, newFifo } from '../../lib/fifo.ts'
import { MILLISECOND } from '../../lib/time.ts'
import { type Change, judge, MAX_WINDOW } from '../circuit-breaker.ts'
import type { Outcome } from '../retry-policy.ts'
import { type Item, type Line, newLine } from './webhook-queue.ts'

/**
 * Who is sent next. Pure; its clock is steady (`nowUs` here never steps).
 *
 * A line is the queue of one webhook. Lines that may send wait in three queues by how they do, and each queue takes turns:
 *   good: its last answer was fine, nothing hangs · unsure: nothing known yet, or something takes long · hanging: neither.
 * Invariants: 16 under way to a webhook (fewer after trouble, 1 while down), 1,024 in all; the worse the queue, the less of
 * what there is it may use, so that receivers that hang never hold up one that answers.
 */
const CLASSES = ['good', 'unsure', 'hanging'] as const
type Class = (typeof CLASSES)[number]

/** All that are under way. */
const MAX_TOTAL: Readonly<Record<Class, number>> = { good: 1_024, unsure: 960, hanging: 512 }
/** Those that began lately: more than 128 active requests halve `fetch`'s throughput, and 64 was the best. */
const MAX_QUICK: Readonly<Record<Class, number>> = { good: 64, unsure: 32, hanging: 16 }
/** Of those, what each has in any case: a few good ones with a backlog take all there is, and would shut out who is new, or is probed. */
const LEAST_QUICK: Readonly<Record<Class, number>> = { good: 0, unsure: 8, hanging: 4 }
/** From then on a request counts as one that hangs, which costs nothing but its place in the total. */
const SLOW_AFTER_US = 50 * MILLISECOND

/** The room that one attempt takes. */
export type Slot = {
  readonly line: Line
  readonly startedUs: number
  readonly probe: boolean
  /** The queue that it came from. */
  readonly from: Class
  slow: boolean
  over: boolean
}

/** One attempt on a delivery that is under way. */
export type Flight = Slot & { readonly item: Item }

export type Lanes = ReturnType<typeof createLanes>

export function createLanes() {
  const lines = new Map<number, Line>()
  const queues: Record<Class, Fifo<Line>> = { good: newFifo(), unsure: newFifo(), hanging: newFifo() }
  const queued = new Set<Line>()
  const flights = newFifo<Slot>()
  let total = 0
  let quick = 0
  const quickFrom: Record<Class, number> = { good: 0, unsure: 0, hanging: 0 }
  let turn = 0

  const classOf = ({ health, slow }: Line): Class =>
    health.proven ? (slow === 0 ? 'good' : 'unsure') : slow === 0 ? 'unsure' : 'hanging'

  const mayProbe = ({ health: { down }, running, isUrged }: Line, nowUs: number): boolean =>
    running === 0 && (isUrged || nowUs >= (down?.probeAtUs ?? 0))
  const maySend = (line: Line, nowUs: number): boolean =>
    line.waiting > 0 && (line.health.down === undefined ? line.running < line.health.window : mayProbe(line, nowUs))

  const queue = (line: Line, nowUs: number) => {
    if (queued.has(line) || !maySend(line, nowUs)) return
    queued.add(line)
    queues[classOf(line)].push(line)
  }
  const mayBegin = (name: Class): boolean =>
    total < MAX_TOTAL[name] && (quick < MAX_QUICK[name] || quickFrom[name] < LEAST_QUICK[name])
  const nextLine = (): { line: Line; from: Class } | undefined => {
    for (let step = 0; step < CLASSES.length; step += 1) {
      const from = CLASSES[(turn + step) % CLASSES.length] ?? 'good'
      if (!mayBegin(from)) continue
      const line = queues[from].shift()
      if (line === undefined) continue
      turn += 1
      queued.delete(line)
      return { line, from }
    }
    return undefined
  }
  const began = (slot: Slot) => {
    const { line, from } = slot
    flights.push(slot)
    line.running += 1
    total += 1
    quick += 1
    quickFrom[from] += 1
  }
  const noLongerQuick = ({ from }: Slot) => {
    quick -= 1
    quickFrom[from] -= 1
  }

  const vacate = (slot: Slot) => {
    slot.over = true
    slot.line.running -= 1
    total -= 1
    if (slot.slow) slot.line.slow -= 1
    else noLongerQuick(slot)
  }

  return {
    get inFlight() {
      return total
    },

    line(webhookId: number): Line {
      let line = lines.get(webhookId)
      if (line === undefined) {
        line = newLine(webhookId)
        lines.set(webhookId, line)
      }
      return line
    },
    lines: () => lines.values(),
    known: (webhookId: number) => lines.get(webhookId),
    /** A webhook of which nothing waits nor is under way. */
    forget: (webhookId: number) => void lines.delete(webhookId),

    add(item: Item, nowUs: number): void {
      const line = this.line(item.webhookId)
      line.add(item)
      queue(line, nowUs)
    },

    /** The next attempt to begin, if any may. */
    take(nowUs: number): Flight | undefined {
      for (let next = nextLine(); next !== undefined; next = nextLine()) {
        const { line, from } = next
        if (!maySend(line, nowUs)) continue
        const item = line.take()
        if (item === undefined) continue
        const probe = line.health.down !== undefined
        const flight = { item, line, startedUs: nowUs, probe, from, slow: false, over: false }
        began(flight)
        queue(line, nowUs)
        return flight
      }
      return undefined
    },

    /** An attempt ended. Its call stays closed until `release`, so that the item can be put back first. */
    ended(flight: Flight, outcome: Outcome, nowUs: number): Change {
      vacate(flight)
      return judge(flight.line.health, outcome, flight.probe, nowUs)
    },

    /** Lets an item that waits be sent next, though its webhook be down. */
    urge(item: Item, nowUs: number): void {
      const line = this.line(item.webhookId)
      line.urge(item)
      queue(line, nowUs)
    },

    /**
     * Takes room for a request that is no delivery: within the limits of its webhook and of all, whatever its window is.
     * `undefined`: there is none now.
     */
    reserve(webhookId: number, nowUs: number): Slot | undefined {
      const line = this.line(webhookId)
      if (line.running >= MAX_WINDOW || total >= MAX_TOTAL.good) return undefined
      const slot = { line, startedUs: nowUs, probe: false, from: classOf(line), slow: false, over: false }
      began(slot)
      return slot
    },
    /** Such a request ended. Only its success says something of the webhook: it closes an open circuit breaker. */
    yield(slot: Slot, outcome: Outcome, nowUs: number): Change {
      vacate(slot)
      const change = outcome.kind === 'delivered' ? judge(slot.line.health, outcome, false, nowUs) : undefined
      queue(slot.line, nowUs)
      return change
    },
    release({ item, line }: Flight, nowUs: number): void {
      line.free(item.callId)
      queue(line, nowUs)
    },

    /** Looks at the clock: what takes long no longer holds a quick one's place; probes become due. */
    tick(nowUs: number): void {
      for (let flight = flights.peek(); flight !== undefined; flight = flights.peek()) {
        if (!flight.over && nowUs - flight.startedUs < SLOW_AFTER_US) break
        flights.shift()
        if (flight.over) continue
        flight.slow = true
        flight.line.slow += 1
        noLongerQuick(flight)
      }
    },
    wake(nowUs: number): void {
      for (const line of lines.values()) queue(line, nowUs)
    },
  }
}
