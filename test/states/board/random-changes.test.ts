import { expect, test } from 'bun:test'
import type { StateList } from '../../../src/states/signal.ts'
import type { Random } from '../../help/random.ts'
import { playCase, seedsOf } from '../../help/seed.ts'
import { createRig, OWN, phone, type Step, textOf, trunk } from './rig.ts'

// A PBX changes at random, and its connection is lost and made again. While it is connected, the board shows the same
// as the PBX's own lists. The last emitted state is the present one, and no state is emitted twice.

const ENDPOINTS = ['101', '102', '103', '104-desk', '104-mobile', 'carrier', 'backup']
const DIRECTORY = ENDPOINTS.map((name) =>
  /^\d/.test(name) ? phone(name.slice(0, 3), { endpoint: `PJSIP/${name}` }) : trunk(name),
)
const QUEUES = ['support', 'sales']
const AGENTS = ['101', '102', '103']
const LISTS: readonly StateList[] = ['devices', 'contacts', 'registrations', 'queues']
type Contact = 'reachable' | 'unreachable' | 'unchecked'
type Agent = 'available' | 'busy' | 'paused' | 'unreachable'
type Registration = 'registered' | 'rejected' | 'unknown'

/** The truth. */
function createPbx(random: Random) {
  const contacts = new Map(ENDPOINTS.map((name) => [name, new Map<string, Contact>()]))
  const devices = new Map<string, 'idle' | 'ringing' | 'in_use'>(ENDPOINTS.map((name) => [name, 'idle']))
  const registrations = new Map<string, Registration>([['carrier', 'registered']])
  const queues = new Map(QUEUES.map((name) => [name, { members: new Map<string, Agent>(), callers: new Map() }]))
  let calls = 0

  /** A device is absent while none of its contacts answers. */
  const deviceOf = (name: string) =>
    [...(contacts.get(name)?.values() ?? [])].some((state) => state !== 'unreachable')
      ? (devices.get(name) ?? 'idle')
      : ('absent' as const)
  const device = (name: string): Step => ({ kind: 'device', endpoint: `PJSIP/${name}`, device: deviceOf(name) })
  const contact = (name: string, id: string, state: Contact): Step => {
    return { kind: 'contact', endpoint: `PJSIP/${name}`, contact: id, state }
  }
  const registration = (name: string, state: Registration): Step => {
    return { kind: 'registration', trunk: name, state, reason: state === 'rejected' ? 'Rejected' : null }
  }
  const member = (queue: string, name: string, state: Agent): Step => {
    const endpoint = `PJSIP/${name}`
    const reason = state === 'paused' ? 'lunch' : null
    return { kind: 'member', queue, member: endpoint, endpoint, extension: name, state, reason }
  }

  return {
    /** Changes something, and returns the events of it. */
    change(nowUs: number): Step[] {
      const name = random.pick(ENDPOINTS)
      const own = contacts.get(name) ?? new Map()
      const id = random.pick(['a', 'b'])
      const queue = random.pick(QUEUES)
      const { members, callers } = queues.get(queue) ?? { members: new Map(), callers: new Map() }
      switch (random.int(7)) {
        case 0:
        case 1: {
          const state = random.pick(['reachable', 'unreachable', 'unchecked'] as const)
          own.set(id, state)
          // Both orders are seen on real PBXs.
          return random.chance(0.5)
            ? [contact(name, id, state), device(name)]
            : [device(name), contact(name, id, state)]
        }
        case 2:
          if (!own.delete(id)) return []
          return [device(name), { kind: 'contact_gone', endpoint: `PJSIP/${name}`, contact: id }]
        case 3:
          devices.set(name, random.pick(['idle', 'ringing', 'in_use']))
          return [device(name)]
        case 4: {
          const state = random.pick(['registered', 'rejected', 'unknown'] as const)
          registrations.set('carrier', state)
          return [registration('carrier', state)]
        }
        case 5: {
          const agent = random.pick(AGENTS)
          if (random.chance(0.2)) {
            if (!members.delete(agent)) return []
            return [{ kind: 'member_gone', queue, member: `PJSIP/${agent}` }]
          }
          const state = random.pick(['available', 'busy', 'paused', 'unreachable'] as const)
          members.set(agent, state)
          return [member(queue, agent, state)]
        }
        default: {
          const [first] = callers.keys()
          if (first !== undefined && random.chance(0.5)) {
            callers.delete(first)
            return [{ kind: 'caller_gone', queue, caller: first }]
          }
          const joined = `call ${calls++}`
          callers.set(joined, nowUs)
          return [{ kind: 'caller', queue, caller: joined, sinceUs: nowUs }]
        }
      }
    },
    /** Returns all lists; `between` makes an event now and then. Each row shows the moment at which it is sent. */
    lists(between: () => Step[] = () => []): Step[] {
      function* rowsOf(list: StateList): Generator<Step> {
        switch (list) {
          case 'devices':
            for (const name of ENDPOINTS) yield device(name)
            return
          case 'contacts':
            for (const [name, own] of contacts) for (const [id, state] of own) yield contact(name, id, state)
            return
          case 'registrations':
            for (const [name, state] of registrations) yield registration(name, state)
            return
          case 'queues':
            for (const [queue, { members, callers }] of queues) {
              yield { kind: 'queue', queue }
              for (const [name, state] of members) yield member(queue, name, state)
              for (const [caller, sinceUs] of callers) yield { kind: 'caller', queue, caller, sinceUs }
            }
            return
          default:
            list satisfies never
        }
      }
      const steps: Step[] = []
      for (const list of LISTS) {
        steps.push({ kind: 'list_began', list })
        for (const row of rowsOf(list)) steps.push(row, ...between())
        steps.push({ kind: 'list_ended', list, isComplete: true })
      }
      return steps
    },
    /** Returns the states of the PBX as the board has to show them. */
    truth(nowUs: number): string[] {
      const phones = Map.groupBy(
        ENDPOINTS.filter((name) => /^\d/.test(name)),
        (name) => name.slice(0, 3),
      )
      return [
        ...[...phones].map(([extension, names]) => {
          const all = names.flatMap((name) => [...(contacts.get(name)?.values() ?? [])])
          const there = names.filter((name) => deviceOf(name) !== 'absent').map(deviceOf)
          const does = (['ringing', 'in_use', 'idle'] as const).find((one) => there.includes(one)) ?? 'unknown'
          const state = there.length > 0 ? 'registered' : all.length > 0 ? 'unreachable' : 'unregistered'
          return `${extension} ${state} ${does} ${all.length}`
        }),
        ...['carrier', 'backup'].map((name) => {
          const all = [...(contacts.get(name)?.values() ?? [])]
          const state = registrations.get(name)
          if (deviceOf(name) === 'absent') return `${name} unreachable`
          if (state !== undefined) return `${name} ${state}${state === 'rejected' ? ' (Rejected)' : ''}`
          return `${name} ${all.includes('reachable') ? 'reachable' : 'unknown'}`
        }),
        ...[...queues].flatMap(([queue, { members, callers }]) => {
          const count = (state: Agent) => [...members.values()].filter((one) => one === state).length
          const firstUs = Math.min(nowUs, ...callers.values())
          const waits = Math.floor((nowUs - firstUs) / 1_000_000)
          return [
            ...[...members].map(
              ([name, state]) => `${name} of ${queue} ${state}${state === 'paused' ? ' (lunch)' : ''}`,
            ),
            `${queue}: ${callers.size} waiting for ${waits}, ${count('available')} ${count('busy')} ${count('paused')}`,
          ]
        }),
      ].toSorted()
    },
  }
}

/** Waiting times are not compared. */
const withoutWait = (text: string): string => text.replace(/waiting for \d+/, 'waiting')

test.each(seedsOf(431, 40))('2,500 random changes are shown and emitted as they are (%d)', (seed) => {
  playCase(seed, (random) => {
    const rig = createRig(OWN)
    const pbx = createPbx(random)
    const shown = () => rig.present().map(textOf).toSorted()
    const connect = () => rig.feed({ kind: 'connected' }, ...pbx.lists(), { kind: 'listed' })
    rig.feed({ kind: 'endpoints', endpoints: DIRECTORY })
    connect()
    expect(rig.emitted).toEqual([])
    for (let step = 0; step < 2_500; step += 1) {
      rig.feed(...pbx.change(rig.nowUs()))
      if (random.chance(0.3)) rig.pass(random.pick([0.2, 1, 4, 6]))
      if (random.chance(0.01)) {
        rig.feed({ kind: 'disconnected' })
        for (let unseen = random.int(30); unseen > 0; unseen -= 1) pbx.change(rig.nowUs())
        rig.pass(random.int(20))
        connect()
      }
      // The lists of every now and then, with events between their rows.
      if (random.chance(0.01)) rig.feed(...pbx.lists(() => (random.chance(0.1) ? pbx.change(rig.nowUs()) : [])))
      if (random.chance(0.05) || step === 2_499) expect(shown()).toEqual(pbx.truth(rig.nowUs()))
    }
    rig.pass(10)
    const last = new Map(rig.emitted.map(({ id, text }) => [id, text]))
    for (const subject of rig.board.subjects.values()) {
      const emitted = last.get(subject.id)
      if (emitted !== undefined) expect(withoutWait(emitted)).toBe(withoutWait(textOf(subject.present)))
    }
    for (const [id, changes] of Map.groupBy(rig.emitted, (one) => one.id)) {
      const texts = changes.map(({ text }) => withoutWait(text))
      expect(texts.filter((text, at) => text === texts[at - 1]).map((text) => `${id}: ${text} twice`)).toEqual([])
    }
  })
})
