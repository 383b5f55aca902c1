import { expect, test } from 'bun:test'
import { type Leases, newLeases, TRUST_US } from '../../src/cluster/leases.ts'
import { type ClusterView, EVERY_PBX, type Lease, type LiveNode } from '../../src/store/operations/cluster.ts'
import { playLeases } from '../help/fake-cluster.ts'
import { playCase, seedsOf } from '../help/seed.ts'

/** A node that was silent for this long is declared dead. */
const SILENT_US = 4_000_000

const SEEDS = seedsOf(20_261_122, 10_000)
const SEEDS_OF_SHARING = seedsOf(20_261_122, 500)
const SECOND = 1_000_000
const STEP_US = SECOND / 2

const lease = (name: string): Lease => ({ name, term: `term of ${name}` })
const node = (id: string, beat: number, pbxs: readonly string[] = [], presets: LiveNode['presets'] = []): LiveNode => ({
  id,
  beat,
  pbxs,
  presets,
  isLeaving: false,
})

/** Returns a view in which the listed leases and the leases of `others` are counted. */
function viewOf(view: Partial<ClusterView>): ClusterView {
  return { databaseUs: 0, nodes: [], own: [], free: [], counts: [], owners: [], ...view }
}

const newTerm = () => 'new'
const ours = (more: Partial<Parameters<typeof newLeases>[0]> = {}): Leases =>
  newLeases({ nodeId: 'ours', newTerm, random: () => 0.5, ...more })

/** Beats twice a second, each answered at once, and returns what the last one came to. */
function beat(leases: Leases, { fromUs, toUs }: { fromUs: number; toUs: number }, view: (atUs: number) => ClusterView) {
  let plan = leases.heartbeatReceived(view(fromUs), { sentUs: fromUs, nowUs: fromUs })
  for (let atUs = fromUs + STEP_US; atUs <= toUs; atUs += STEP_US)
    plan = leases.heartbeatReceived(view(atUs), { sentUs: atUs, nowUs: atUs })
  return plan
}

test(`two nodes never trust one lease, also when messages are late or lost, and nodes frozen or killed: ${SEEDS.length} games`, () => {
  for (const seed of SEEDS) {
    playCase(seed, (random) => {
      const sizes = { nodes: 2 + random.int(3), leases: 1 + random.int(4) }
      expect(playLeases(random, { ...sizes, lastsUs: 16 * SECOND, quietUs: 0 })).toBeUndefined()
    })
  }
})

test(`after quiet time each lease has an owner, and accounts are shared out evenly: ${SEEDS_OF_SHARING.length} games`, () => {
  for (const seed of SEEDS_OF_SHARING) {
    playCase(seed, (random) => {
      const sizes = { nodes: 2 + random.int(3), leases: 1 + random.int(9) }
      expect(playLeases(random, { ...sizes, lastsUs: 16 * SECOND, quietUs: 45 * SECOND })).toBeUndefined()
    })
  }
})

test(`after quiet time each account has a node with the most of its presets, evenly among these: ${SEEDS_OF_SHARING.length} games`, () => {
  for (const seed of SEEDS_OF_SHARING) {
    playCase(seed, (random) => {
      const sizes = { nodes: 2 + random.int(3), leases: 2 + random.int(9), presets: ['a', 'b', 'c'] }
      expect(playLeases(random, { ...sizes, lastsUs: 16 * SECOND, quietUs: 45 * SECOND })).toBeUndefined()
    })
  }
})

test('trust lasts for 3 s from before the heartbeat was sent, not from its answer', () => {
  const leases = ours()
  leases.heartbeatReceived(viewOf({ own: [lease('account:1')] }), { sentUs: 0, nowUs: 2 * SECOND })
  expect(leases.isTrusted(TRUST_US - 1)).toBe(true)
  expect(leases.isTrusted(TRUST_US)).toBe(false)
  expect(leases.holds('account:1')).toBe(true)
})

test('a node that was not heard of for 4 s is found silent by its last heartbeat, and not before', () => {
  const leases = ours()
  const view = viewOf({ nodes: [node('ours', 20), node('theirs', 7)] })
  expect(beat(leases, { fromUs: 0, toUs: SILENT_US - STEP_US }, () => view).silent).toEqual([])
  const at = { sentUs: SILENT_US, nowUs: SILENT_US }
  expect(leases.heartbeatReceived(view, at).silent).toEqual([{ id: 'theirs', beat: 7 }])
})

test('nothing is taken before 4 s of heartbeats without a failure, as after an outage of the database', () => {
  const leases = ours()
  const view = viewOf({
    nodes: [node('ours', 20), node('theirs', 7)],
    free: [lease('account:1')],
    counts: [{ node: null, kind: 'account', count: 1 }],
  })
  expect(beat(leases, { fromUs: 0, toUs: SILENT_US - STEP_US }, () => view).claims).toEqual([])
  leases.statementFailed()
  const fromUs = SILENT_US
  const early = beat(leases, { fromUs, toUs: fromUs + SILENT_US - STEP_US }, () => view)
  expect([early.claims, early.silent]).toEqual([[], []])
  const at = fromUs + SILENT_US
  const { claims, silent } = leases.heartbeatReceived(view, { sentUs: at, nowUs: at })
  expect(claims).toEqual([{ name: 'account:1', seenTerm: 'term of account:1', newTerm: 'new' }])
  expect(silent).toEqual([{ id: 'theirs', beat: 7 }])
})

test('a heartbeat that comes after trust was over is as one after a failure', () => {
  const leases = ours()
  const view = (theirs: number) =>
    viewOf({ nodes: [node('ours', 20), node('theirs', theirs)], free: [lease('maintenance')] })
  beat(leases, { fromUs: 0, toUs: SILENT_US }, () => view(7))
  const late = SILENT_US + TRUST_US
  const { claims, silent } = leases.heartbeatReceived(view(7), { sentUs: late, nowUs: late })
  expect([claims, silent]).toEqual([[], []])
})

test('a node takes its share of the free leases, and leases that nobody else takes', () => {
  const leases = ours()
  const free = ['account:1', 'account:2', 'account:3', 'account:4'].map(lease)
  const counts = [{ node: null, kind: 'account', count: 4 }]
  const view = (atUs: number) =>
    viewOf({ nodes: [node('ours', 20), node('theirs', atUs)], free: atUs < SILENT_US ? [] : free, counts })
  expect(beat(leases, { fromUs: 0, toUs: SILENT_US }, view).claims).toHaveLength(2)
  expect(beat(leases, { fromUs: SILENT_US + STEP_US, toUs: SILENT_US + 2 * SECOND }, view).claims).toHaveLength(4)
})

test('leases are handed over to a node that has two fewer, the least busy ones first, until the difference is one', () => {
  const loads = new Map([
    ['account:1', 9],
    ['account:2', 0],
    ['account:3', 4],
  ])
  const leases = ours({ loadOf: (name) => loads.get(name) ?? 0 })
  const own = [...loads.keys()].map(lease)
  const countsOf = (mine: number, theirs: number) => [
    { node: 'ours', kind: 'account', count: mine },
    { node: 'theirs', kind: 'account', count: theirs },
  ]
  const view = (atUs: number) =>
    viewOf({ nodes: [node('ours', 20), node('theirs', 100 + atUs)], own, counts: countsOf(3, 0) })
  const plan = beat(leases, { fromUs: 0, toUs: SILENT_US }, view)
  expect(plan.handOvers).toEqual([{ name: 'account:2', to: 'theirs' }])
  expect(leases.give('account:2')).toBe(true)
  expect([leases.holds('account:2'), leases.termOf('account:2')]).toEqual([false, 'term of account:2'])
  const during = leases.heartbeatReceived(view(1), { sentUs: SILENT_US + STEP_US, nowUs: SILENT_US + STEP_US })
  expect([during.handOvers, during.giving, during.gained]).toEqual([[], [lease('account:2')], []])
  leases.handedOver([lease('account:2')])
  const after = viewOf({
    nodes: [node('ours', 20), node('theirs', 102)],
    own: own.filter(({ name }) => name !== 'account:2'),
    counts: countsOf(2, 1),
  })
  expect(leases.heartbeatReceived(after, { sentUs: SILENT_US + SECOND, nowUs: SILENT_US + SECOND }).handOvers).toEqual(
    [],
  )
})

test('a PBX is taken and given only where it is set up', () => {
  const leases = ours({ canOwn: (name) => name !== 'pbx:branch' })
  const counts = [
    { node: 'ours', kind: 'pbx', count: 2 },
    { node: null, kind: 'pbx', count: 1 },
  ]
  const own = ['pbx:office', 'pbx:shop'].map(lease)
  const view = (pbxs: readonly string[]) => (atUs: number) =>
    viewOf({ nodes: [node('ours', 20), node('theirs', 100 + atUs, pbxs)], own, free: [lease('pbx:branch')], counts })
  const { claims, handOvers } = beat(leases, { fromUs: 0, toUs: SILENT_US }, view(['branch']))
  expect([claims, handOvers]).toEqual([[], []])
  const fromUs = SILENT_US + STEP_US
  expect(beat(leases, { fromUs, toUs: fromUs }, view(['branch', 'shop'])).handOvers).toEqual([
    { name: 'pbx:shop', to: 'theirs' },
  ])
})

test('many leases are handed over at a time, and the nodes that get them have as many each', () => {
  const leases = ours()
  const own = Array.from({ length: 90 }, (_, at) => lease(`account:${at}`))
  const counts = [
    { node: 'ours', kind: 'account', count: 90 },
    { node: 'theirs', kind: 'account', count: 10 },
  ]
  const nodes = (atUs: number) => [node('ours', 20), node('theirs', 100 + atUs), node('third', 100 + atUs)]
  const { handOvers } = beat(leases, { fromUs: 0, toUs: SILENT_US }, (atUs) =>
    viewOf({ nodes: nodes(atUs), own, counts }),
  )
  const of = (to: string) => handOvers.filter((one) => one.to === to).length
  // 100 in all: 34, 33 and 33 are even, and 35 differ by less than two from 33.
  expect([90 - handOvers.length, 10 + of('theirs'), of('third')].toSorted()).toEqual([33, 33, 34])
})

test('a node that leaves gives to those that are heard of, evenly, also if they may take nothing yet; else to the first that asks', () => {
  const own = ['account:1', 'account:2', 'account:3', 'maintenance'].map(lease)
  const counts = [
    { node: 'ours', kind: 'account', count: 3 },
    { node: 'theirs', kind: 'account', count: 1 },
  ]
  const leaving = (others: readonly LiveNode[]) => {
    const leases = ours()
    const view = viewOf({ nodes: [node('ours', 20), ...others], own, counts })
    leases.heartbeatReceived(view, { sentUs: 0, nowUs: 0 })
    leases.leave()
    return Object.fromEntries(leases.heartbeatReceived(view, { sentUs: STEP_US, nowUs: STEP_US }).heirs)
  }
  const heirs = leaving([node('theirs', 1), node('third', 1)])
  const { maintenance, ...accounts } = heirs
  expect(Object.values(accounts).toSorted()).toEqual(['theirs', 'third', 'third'])
  expect(maintenance).toBe('theirs')
  expect(leaving([])).toEqual({})
  expect(leaving([{ ...node('theirs', 1), isLeaving: true }])).toEqual({})
})

/** The webhooks of account 1 need the preset `mine`. */
const needs = () => new Map([['account:1', ['mine']]])
const ACCOUNTS_1_AND_2 = ['account:1', 'account:2'].map(lease)

test('an account whose preset a node lacks is claimed by one that has it, by others only when it stays free', () => {
  const claimed = (mine: LiveNode['presets'], theirs: LiveNode['presets'], laterUs: number) => {
    const leases = ours({ needs })
    const counts = [
      { node: 'ours', kind: 'account', count: 2 },
      { node: null, kind: 'account', count: 2 },
    ]
    const own = ['account:3', 'account:4'].map(lease)
    const view = (atUs: number) =>
      viewOf({
        nodes: [node('ours', 20, [], mine), node('theirs', atUs, [], theirs)],
        own,
        free: atUs < SILENT_US ? [] : ACCOUNTS_1_AND_2,
        counts,
      })
    const { claims } = beat(leases, { fromUs: 0, toUs: SILENT_US + laterUs }, view)
    return claims.map(({ name }) => name).toSorted()
  }
  // It has its half of the four accounts, and takes the one that the other cannot serve all the same.
  expect(claimed(['mine'], [], 0)).toEqual(['account:1'])
  expect(claimed([], ['mine'], 0)).toEqual([])
  expect(claimed([], ['mine'], SECOND)).toEqual(['account:1', 'account:2'])
  expect(claimed([], [], 0)).toEqual([])
  // A node of an earlier version does not say what it has.
  expect(claimed(['mine'], null, 0)).toEqual([])
})

test('an account whose preset a node lacks is handed over to one that has it, and is given to no node that lacks it', () => {
  const handedOver = (mine: readonly string[], theirs: readonly string[], countOfTheirs: number) => {
    const counts = [
      { node: 'ours', kind: 'account', count: 2 },
      { node: 'theirs', kind: 'account', count: countOfTheirs },
    ]
    const view = (atUs: number) =>
      viewOf({
        nodes: [node('ours', 20, [], mine), node('theirs', 100 + atUs, [], theirs)],
        own: ACCOUNTS_1_AND_2,
        counts,
      })
    return beat(ours({ needs }), { fromUs: 0, toUs: SILENT_US }, view).handOvers
  }
  expect(handedOver([], ['mine'], 9)).toEqual([{ name: 'account:1', to: 'theirs' }])
  expect(handedOver(['mine'], [], 0)).toEqual([{ name: 'account:2', to: 'theirs' }])
  expect(handedOver([], [], 9)).toEqual([])
})

test('a node that leaves gives an account to a node that has its preset, and where none has it to any', () => {
  const heirOf = (...others: LiveNode[]) => {
    const leases = ours({ needs })
    const counts = [{ node: 'with', kind: 'account', count: 9 }]
    const view = viewOf({ nodes: [node('ours', 20), ...others], own: [lease('account:1')], counts })
    leases.heartbeatReceived(view, { sentUs: 0, nowUs: 0 })
    leases.leave()
    return leases.heartbeatReceived(view, { sentUs: STEP_US, nowUs: STEP_US }).heirs.get('account:1')
  }
  expect(heirOf(node('without', 1), node('with', 1, [], ['mine']))).toBe('with')
  expect(heirOf(node('without', 1))).toBe('without')
})

/** The PBXs `office` and `shop` are account 1's, `branch` is account 2's, `hotel` serves several. */
const homes = () =>
  new Map([
    ['pbx:office', 'account:1'],
    ['pbx:shop', 'account:1'],
    ['pbx:branch', 'account:2'],
  ])

test('a free PBX is taken by the node of its account, with it where both are free; others take it only when it stays free', () => {
  const leases = ours({ homes })
  const free = ['pbx:office', 'pbx:shop', 'pbx:branch', 'account:2'].map(lease)
  const counts = [
    { node: null, kind: 'account', count: 1 },
    { node: 'theirs', kind: 'account', count: 1 },
    { node: null, kind: 'pbx', count: 3 },
  ]
  const owners = [{ name: 'account:1', node: 'theirs' }]
  const view = (atUs: number) =>
    viewOf({ nodes: [node('ours', 20), node('theirs', atUs)], free: atUs < SILENT_US ? [] : free, counts, owners })
  const named = ({ claims }: { claims: readonly { name: string }[] }) => claims.map(({ name }) => name).toSorted()
  expect(named(beat(leases, { fromUs: 0, toUs: SILENT_US }, view))).toEqual(['account:2', 'pbx:branch'])
  const later = { fromUs: SILENT_US + STEP_US, toUs: SILENT_US + 2 * SECOND }
  expect(named(beat(leases, later, view))).toEqual(free.map(({ name }) => name).toSorted())
})

test('a PBX is handed over to the node of its account, and stays there however many that has', () => {
  const leases = ours({ homes })
  const own = ['pbx:office', 'pbx:branch', 'pbx:hotel', 'account:2'].map(lease)
  const counts = [
    { node: 'ours', kind: 'pbx', count: 3 },
    { node: 'theirs', kind: 'pbx', count: 5 },
    { node: 'ours', kind: 'account', count: 1 },
    { node: 'theirs', kind: 'account', count: 1 },
  ]
  const owners = [
    { name: 'account:1', node: 'theirs' },
    { name: 'account:2', node: 'ours' },
  ]
  const view = (pbxs: readonly string[]) => (atUs: number) =>
    viewOf({ nodes: [node('ours', 20), node('theirs', 100 + atUs, pbxs)], own, counts, owners })
  expect(beat(leases, { fromUs: 0, toUs: SILENT_US }, view(['shop'])).handOvers).toEqual([])
  const { handOvers } = beat(leases, { fromUs: SILENT_US + STEP_US, toUs: SILENT_US + STEP_US }, view([EVERY_PBX]))
  expect(handOvers).toEqual([{ name: 'pbx:office', to: 'theirs' }])
})

test('the PBXs of a node that leaves go with their accounts', () => {
  const leases = ours({ homes })
  const own = ['pbx:office', 'pbx:shop', 'pbx:branch', 'account:1', 'account:2'].map(lease)
  const nodes = [node('ours', 20), node('theirs', 1, [EVERY_PBX]), node('third', 1, [EVERY_PBX])]
  const view = viewOf({ nodes, own, counts: [] })
  leases.heartbeatReceived(view, { sentUs: 0, nowUs: 0 })
  leases.leave()
  const { heirs } = leases.heartbeatReceived(view, { sentUs: STEP_US, nowUs: STEP_US })
  for (const [pbx, account] of homes()) expect(heirs.get(pbx)).toBe(heirs.get(account) ?? '')
  expect(heirs.get('account:1')).not.toBe(heirs.get('account:2') ?? '')
})

test('a lease with another term in the database is lost, and gained a heartbeat later; an unknown one is gained at once', () => {
  const leases = ours()
  leases.heartbeatReceived(viewOf({ own: [lease('account:1'), lease('account:2')] }), { sentUs: 0, nowUs: 0 })
  const own = [{ name: 'account:1', term: 'another' }, lease('account:3')]
  const { gained, lost } = leases.heartbeatReceived(viewOf({ own }), { sentUs: SECOND, nowUs: SECOND })
  expect([gained, lost]).toEqual([['account:3'], ['account:1', 'account:2']])
  expect([leases.termOf('account:1'), leases.holds('account:1')]).toEqual([undefined, false])
  const after = leases.heartbeatReceived(viewOf({ own }), { sentUs: 2 * SECOND, nowUs: 2 * SECOND })
  expect([after.gained, leases.termOf('account:1')]).toEqual([['account:1'], 'another'])
})

test('a node that was found dead holds nothing, and trusts nothing', () => {
  const leases = ours()
  leases.heartbeatReceived(viewOf({ own: [lease('account:1')] }), { sentUs: 0, nowUs: 0 })
  expect(leases.declaredDead()).toEqual(['account:1'])
  expect([leases.isTrusted(1), leases.holds('account:1'), leases.termOf('account:1')]).toEqual([
    false,
    false,
    undefined,
  ])
})
