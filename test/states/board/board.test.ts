import { describe, expect, test } from 'bun:test'
import type { EndpointEntry } from '../../../src/states/signal.ts'
import { createRig, OWN, phone, type Rig, type Step, textOf, trunk } from './rig.ts'

const device = (extension: string, state: 'idle' | 'ringing' | 'in_use' | 'absent'): Step => ({
  kind: 'device',
  endpoint: `PJSIP/${extension}`,
  device: state,
})
const contact = (name: string, state: 'reachable' | 'unreachable' | 'unchecked' = 'reachable', id = 'a'): Step => ({
  kind: 'contact',
  endpoint: `PJSIP/${name}`,
  contact: id,
  state,
})
const gone = (name: string, id = 'a'): Step => ({ kind: 'contact_gone', endpoint: `PJSIP/${name}`, contact: id })
const registration = (state: 'registered' | 'rejected' | 'unknown', reason: string | null = null): Step => ({
  kind: 'registration',
  trunk: 'carrier',
  state,
  reason,
})
const member = (state: 'available' | 'busy' | 'paused' | 'unreachable', reason: string | null = null): Step => ({
  kind: 'member',
  queue: 'support',
  member: 'PJSIP/101',
  endpoint: 'PJSIP/101',
  extension: '101',
  state,
  reason,
})
const memberGone: Step = { kind: 'member_gone', queue: 'support', member: 'PJSIP/101' }
const caller = (id: string, rig: Rig): Step => ({ kind: 'caller', queue: 'support', caller: id, sinceUs: rig.nowUs() })
const callerGone = (id: string): Step => ({ kind: 'caller_gone', queue: 'support', caller: id })

const LISTS = ['devices', 'contacts', 'registrations', 'queues'] as const
/** All lists, with these rows in each of them. */
const lists = (...rows: Step[]): Step[] => [
  { kind: 'connected' },
  ...LISTS.map((list): Step => ({ kind: 'list_began', list })),
  ...rows,
  ...LISTS.map((list): Step => ({ kind: 'list_ended', list, isComplete: true })),
  { kind: 'listed' },
]
const KNOWN: readonly EndpointEntry[] = [phone('101'), phone('102'), trunk('carrier')]

/** A board whose first lists were these rows. */
function connected(...rows: Step[]): Rig {
  const rig = createRig()
  rig.feed({ kind: 'endpoints', endpoints: KNOWN }, ...lists(...rows))
  return rig
}
const texts = (rig: Rig) => rig.emitted.map(({ text }) => text)
const presents = (rig: Rig) => rig.present().map(textOf)

const REGISTERED = [device('101', 'idle'), contact('101')]

/** Signals after the first lists (`number`: seconds that pass), and the changes that are emitted. */
const CASES: readonly [sentence: string, first: Step[], then: readonly (Step | number)[], emitted: string[]][] = [
  ['the first lists emit nothing', [...REGISTERED, registration('registered'), member('available')], [60], []],
  [
    'the registration of a phone is emitted once it was stable for 5 s',
    [],
    [contact('101'), device('101', 'idle'), 4.9],
    [],
  ],
  ['as it is then', [], [contact('101'), device('101', 'idle'), 5], ['101 registered idle 1']],
  ['one that unregisters, too', REGISTERED, [gone('101'), device('101', 'absent'), 5], ['101 unregistered unknown 0']],
  [
    'a phone that flaps emits nothing',
    REGISTERED,
    [contact('101', 'unreachable'), device('101', 'absent'), 3, contact('101'), device('101', 'idle'), 60],
    [],
  ],
  [
    'one that does not answer any more is unreachable, not unregistered',
    REGISTERED,
    [contact('101', 'unreachable'), device('101', 'absent'), 5],
    ['101 unreachable unknown 1'],
  ],
  ['ringing is emitted at once', REGISTERED, [device('101', 'ringing')], ['101 registered ringing 1']],
  [
    'each change of the device once',
    REGISTERED,
    [device('101', 'ringing'), device('101', 'ringing'), 1, device('101', 'in_use'), device('101', 'idle')],
    ['101 registered ringing 1', '101 registered in_use 1', '101 registered idle 1'],
  ],
  [
    'a second device of a phone that rings is emitted 5 s later, ringing at once',
    REGISTERED,
    [contact('101', 'reachable', 'b'), 1, device('101', 'ringing'), 1, device('101', 'idle'), 5],
    ['101 registered ringing 1', '101 registered idle 1', '101 registered idle 2'],
  ],
  [
    'the trunk that is rejected',
    [registration('registered')],
    [registration('rejected', 'Rejected'), 5],
    ['carrier rejected (Rejected)'],
  ],
  [
    'a trunk whose provider does not answer is unreachable, whatever its registration says',
    [registration('registered'), contact('carrier')],
    [contact('carrier', 'unreachable'), registration('rejected', 'Rejected'), 5],
    ['carrier unreachable'],
  ],
  [
    'a trunk without a registration is reachable',
    [device('carrier', 'idle'), contact('carrier', 'unchecked')],
    [contact('carrier'), 5],
    ['carrier reachable'],
  ],
  [
    'a change of an agent is emitted at once',
    [member('available')],
    [member('paused', 'lunch')],
    ['101 of support paused (lunch)', 'support: 0 waiting for 0, 0 0 1'],
  ],
  [
    'another reason is another change',
    [member('paused', 'lunch')],
    [member('paused', 'meeting'), member('paused', 'meeting')],
    ['101 of support paused (meeting)'],
  ],
  [
    'a member that leaves its queue is logged out',
    [member('unreachable')],
    [memberGone],
    ['101 of support logged_out'],
  ],
]

describe('the board', () => {
  test.each(CASES)('%s', (_, first, then, emitted) => {
    const rig = connected(...first)
    for (const step of then) typeof step === 'number' ? rig.pass(step) : rig.feed(step)
    expect(texts(rig)).toEqual(emitted)
    expect(rig.emitted.every(({ resync }) => !resync)).toBe(true)
  })

  test('configured phones that no list has are unregistered, and present ones are shown at once', () => {
    const rig = connected(...REGISTERED)
    expect(presents(rig)).toEqual(['101 registered idle 1', '102 unregistered unknown 0'])
    rig.feed(gone('101'))
    expect(presents(rig)[0]).toBe('101 unregistered unknown 0')
    expect(rig.emitted).toEqual([])
  })

  test('a queue is emitted at most once a second, with its present state, and not for the growing wait of a caller', () => {
    const rig = connected(member('available'))
    rig.feed(caller('a', rig))
    rig.feed(caller('b', rig), callerGone('a'))
    rig.feed(caller('c', rig))
    expect(texts(rig)).toEqual(['support: 1 waiting for 0, 1 0 0'])
    rig.pass(1)
    expect(texts(rig).slice(1)).toEqual(['support: 2 waiting for 1, 1 0 0'])
    rig.pass(60)
    expect(rig.emitted).toHaveLength(2)
    rig.feed(callerGone('b'), caller('d', rig))
    rig.pass(5)
    expect(rig.emitted).toHaveLength(2)
    expect(presents(rig)).toContain('support: 2 waiting for 66, 1 0 0')
  })

  test('an agent that logs out disappears from all lists', () => {
    const rig = connected(member('available'))
    rig.feed(memberGone)
    expect(presents(rig).filter((text) => text.includes(' of '))).toEqual([])
    rig.feed(member('available'))
    expect(texts(rig)).toContain('101 of support available')
  })

  test('after a reconnect only differences are emitted, as such', () => {
    const rig = connected(...REGISTERED, registration('registered'), member('available'))
    rig.feed({ kind: 'disconnected' })
    rig.pass(60)
    rig.feed(...lists(device('101', 'idle'), contact('101'), registration('rejected', 'Rejected'), member('paused')))
    rig.pass(10)
    expect(rig.emitted.map(({ text, resync }) => [text, resync])).toEqual([
      ['101 of support paused', true],
      ['support: 0 waiting for 0, 0 0 1', true],
      ['carrier rejected (Rejected)', true],
    ])
    rig.feed(device('101', 'ringing'))
    expect(rig.emitted.at(-1)).toMatchObject({ text: '101 registered ringing 1', resync: false })
  })

  test('a change that was pending when the connection was lost, and is over after it, is not emitted', () => {
    const rig = connected(...REGISTERED)
    rig.feed(gone('101'), device('101', 'absent'))
    rig.pass(1)
    rig.feed({ kind: 'disconnected' })
    rig.pass(30)
    expect(rig.emitted).toEqual([])
    rig.feed(...lists(...REGISTERED))
    rig.pass(30)
    expect(rig.emitted).toEqual([])
  })

  test('members missing from a complete list are gone, members missing from an incomplete list stay', () => {
    const rig = connected(...REGISTERED, member('available'))
    const half = LISTS.flatMap((list): Step[] => [
      { kind: 'list_began', list },
      { kind: 'list_ended', list, isComplete: false },
    ])
    rig.feed({ kind: 'disconnected' }, { kind: 'connected' }, ...half, { kind: 'listed' })
    rig.pass(10)
    expect(rig.emitted).toEqual([])
    rig.feed({ kind: 'disconnected' }, ...lists())
    rig.pass(10)
    expect(texts(rig).toSorted()).toEqual(['101 of support logged_out', '101 unregistered unknown 0'])
  })

  test('half of a list of a queue is no state', () => {
    const rig = connected(member('available'))
    const rows = ['a', 'b', 'c'].map((id) => caller(id, rig))
    rig.feed({ kind: 'list_began', list: 'queues' }, ...rows.slice(0, 2))
    expect(rig.emitted).toEqual([])
    rig.feed(...rows.slice(2), member('available'), { kind: 'list_ended', list: 'queues', isComplete: true })
    rig.feed({ kind: 'listed' })
    expect(texts(rig)).toEqual(['support: 3 waiting for 0, 1 0 0'])
  })

  test('a restart continues with the stored states: differences are emitted, and nothing twice', () => {
    const earlier = connected(...REGISTERED, member('available'))
    earlier.feed(device('101', 'ringing'))
    const stored = [...earlier.board.subjects.values()]
    const rig = createRig(OWN, stored)
    expect(presents(rig)[0]).toBe('101 registered ringing 1')
    rig.feed(
      { kind: 'endpoints', endpoints: KNOWN },
      ...lists(device('101', 'ringing'), contact('101'), member('busy')),
    )
    rig.pass(10)
    expect(rig.emitted.map(({ text, resync }) => [text, resync])).toEqual([
      ['101 of support busy', true],
      ['support: 0 waiting for 0, 0 1 0', true],
    ])
  })

  test('until all lists have come, the known states are shown unchanged, with their times', () => {
    const rows = [...REGISTERED, device('carrier', 'idle'), registration('registered'), member('available')]
    const earlier = connected(...rows)
    const rig = createRig(OWN, [...earlier.board.subjects.values()])
    const before = rig.present()
    rig.pass(60)
    rig.feed({ kind: 'endpoints', endpoints: KNOWN }, { kind: 'connected' })
    rig.feed({ kind: 'list_began', list: 'devices' }, device('101', 'idle'), device('carrier', 'idle'))
    rig.feed({ kind: 'list_ended', list: 'devices', isComplete: true })
    expect(rig.present()).toEqual(before)
    rig.feed(...lists(...rows))
    rig.pass(10)
    expect(rig.present()).toEqual(before)
    expect(rig.emitted).toEqual([])
  })

  test('a phone with several endpoints is one phone', () => {
    const rig = createRig()
    const desk = phone('101')
    const mobile = phone('101', { endpoint: 'PJSIP/101-mobile' })
    rig.feed({ kind: 'endpoints', endpoints: [desk, mobile] }, ...lists(device('101', 'idle'), contact('101')))
    expect(presents(rig)).toEqual(['101 registered idle 1'])
    rig.feed({ kind: 'device', endpoint: 'PJSIP/101-mobile', device: 'idle' }, contact('101-mobile'))
    rig.feed({ kind: 'device', endpoint: 'PJSIP/101-mobile', device: 'ringing' })
    expect(presents(rig)).toEqual(['101 registered ringing 2'])
    rig.feed(gone('101'), device('101', 'absent'))
    expect(presents(rig)).toEqual(['101 registered ringing 1'])
  })

  test('entries of a later configuration emit nothing', () => {
    const rig = connected(device('103', 'idle'), contact('103'))
    rig.feed({ kind: 'endpoints', endpoints: [...KNOWN, phone('103')] })
    rig.pass(10)
    expect(rig.emitted).toEqual([])
    expect(presents(rig)).toContain('103 registered idle 1')
    rig.feed({ kind: 'endpoints', endpoints: [phone('103')] })
    expect(presents(rig)).toEqual(['103 registered idle 1'])
  })

  test('customers have their own phones, queues and agents, and the trunks belong to the account of the URL', () => {
    const accountOf = (tenant: string | null) => (tenant === 'nobody' ? null : (tenant ?? 'owner'))
    const accountOfQueue = (_: string, owners: ReadonlySet<string | null>) =>
      owners.size === 1 ? ([...owners][0] ?? null) : null
    const rig = createRig({ account: 'owner', accountOf, accountOfQueue })
    const acme = phone('101', { tenant: 'acme' })
    const beta = phone('101', { endpoint: 'PJSIP/beta101', tenant: 'beta' })
    const lost = phone('109', { tenant: 'nobody' })
    rig.feed({ kind: 'endpoints', endpoints: [acme, beta, lost, trunk('carrier')] })
    rig.feed(...lists(...REGISTERED, registration('registered'), member('available'), device('109', 'idle')))
    expect(rig.present('acme').map(textOf)).toEqual([
      '101 registered idle 1',
      '101 of support available',
      'support: 0 waiting for 0, 1 0 0',
    ])
    expect(rig.present('beta').map(textOf)).toEqual(['101 unregistered unknown 0'])
    expect(rig.present('owner').map(textOf)).toEqual(['carrier registered'])
    rig.feed(device('101', 'ringing'), device('109', 'ringing'), registration('rejected', 'Rejected'))
    rig.pass(5)
    expect(rig.emitted.map(({ account, text }) => `${account}: ${text}`)).toEqual([
      'acme: 101 registered ringing 1',
      'owner: carrier rejected (Rejected)',
    ])
    // A phone whose customer is not known yet belongs to no account, and emits nothing.
    rig.feed({ kind: 'endpoint', entry: phone('105', { tenant: undefined }) }, device('105', 'idle'))
    rig.feed(device('105', 'ringing'))
    expect(rig.present('owner').map(textOf)).toEqual(['carrier rejected (Rejected)'])
    rig.feed({ kind: 'tenant', endpoint: 'PJSIP/105', tenant: 'beta' })
    rig.pass(10)
    expect(rig.present('beta').map(textOf)).toContain('105 registered ringing 1')
    expect(rig.emitted).toHaveLength(2)
    // With a member of another customer the queue belongs to no account.
    rig.feed({ ...member('available'), member: 'PJSIP/beta101', endpoint: 'PJSIP/beta101' } as Step)
    expect(rig.present('acme').map(textOf)).toEqual(['101 registered ringing 1'])
    rig.feed(caller('a', rig))
    rig.pass(5)
    expect(rig.emitted).toHaveLength(2)
  })

  test('of many due changes each is emitted once, in the order in which they became due, some at a time', () => {
    const rig = createRig()
    const names = Array.from({ length: 600 }, (_, at) => `${1_000 + at}`)
    rig.feed({ kind: 'endpoints', endpoints: names.map((name) => phone(name)) })
    rig.feed(...lists(...names.map((name) => contact(name))))
    for (const name of names) {
      rig.feed(contact(name, 'unreachable'))
      rig.pass(0.001)
    }
    rig.pass(5)
    expect(rig.emitted.map(({ text }) => text)).toEqual(names.map((name) => `${name} unreachable unknown 1`))
    expect(rig.mostAtOnce()).toBeLessThanOrEqual(256)
  })

  test('a change of a subject whose list is being read waits for its end, and then is emitted', () => {
    const rig = createRig()
    rig.feed({ kind: 'endpoints', endpoints: [phone('101'), phone('102')] })
    rig.feed(...lists(...REGISTERED, contact('102')))
    rig.feed({ kind: 'list_began', list: 'contacts' }, contact('101', 'unreachable'))
    rig.pass(10)
    expect(rig.emitted).toEqual([])
    rig.feed({ kind: 'list_ended', list: 'contacts', isComplete: false })
    expect(rig.emitted.map(({ text }) => text)).toEqual(['101 unreachable unknown 1'])
  })

  test('the first caller of a queue is known although those before and behind leave', () => {
    const rig = createRig()
    rig.feed(...lists(member('available')))
    for (const [at, id] of ['a', 'b', 'c', 'd'].entries()) {
      rig.pass(at === 0 ? 0 : 10)
      rig.feed(caller(id, rig))
    }
    const waits = () => rig.present().map(textOf).at(-1)
    expect(waits()).toBe('support: 4 waiting for 30, 1 0 0')
    rig.feed(callerGone('b'))
    expect(waits()).toBe('support: 3 waiting for 30, 1 0 0')
    rig.feed(callerGone('a'))
    expect(waits()).toBe('support: 2 waiting for 10, 1 0 0')
    rig.feed(callerGone('c'), callerGone('d'))
    expect(waits()).toBe('support: 0 waiting for 0, 1 0 0')
  })
})
