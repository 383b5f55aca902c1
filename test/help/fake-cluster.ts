import { type LeasePlan, type Leases, newLeases } from '../../src/cluster/leases.ts'
import { leaseKindOf } from '../../src/cluster/ownership.ts'
import type { Claim, ClusterView } from '../../src/store/operations/cluster.ts'
import type { Random } from './random.ts'

const SECOND = 1_000_000
const STEP_US = SECOND / 2
const DEADLINE_US = 1.5 * SECOND

type Row = { node: string | null; term: string }
type NodeRow = { beat: number; dead: boolean; isLeaving: boolean; presets: readonly string[] }
type Tables = { nodes: Map<string, NodeRow>; leases: Map<string, Row> }

/** The two tables; each statement takes effect at one moment. */
type FakeDatabase = { readonly tables: Tables; isUp: boolean; connections: number }

type FakeNode = {
  readonly number: number
  readonly presets: readonly string[]
  readonly offsetUs: number
  readonly rate: number
  id: string
  leases: Leases
  frozenToUs: number
  isRunning: boolean
  isLeaving: boolean
  connection: number
}

type GameOptions = {
  readonly nodes: number
  readonly leases: number
  readonly lastsUs: number
  readonly quietUs: number
  /** Each node has some of these, and each account needs some; absent: none. */
  readonly presets?: readonly string[]
}

/** The fault of a game; `undefined` without a fault. */
type GameFault = string | undefined

/**
 * Plays some nodes with one database: messages take any time or are lost, statements take effect after their sender gave them up, nodes are
 * frozen, killed and started, and the database is away. Clocks have any offset and run up to 5 %
 * fast or slow. Returns how two nodes trusted one lease, or how after a quiet time one had no owner, or another owner
 * would have been better.
 */
export function playLeases(random: Random, options: GameOptions): GameFault {
  const queue = newAgenda()
  const database: FakeDatabase = {
    tables: { nodes: new Map(), leases: new Map() },
    isUp: true,
    connections: 0,
  }
  for (let at = 0; at < options.leases; at++)
    database.tables.leases.set(at === 0 ? 'maintenance' : `account:${at}`, { node: null, term: `t${at}` })
  /** It is the same in all games: nothing that was committed is ever lost. */
  const isKnownToBeTheSame = random.chance(0.5)
  let ids = 0
  let terms = 0
  let fault: GameFault
  const isQuiet = () => queue.nowUs() >= options.lastsUs
  const between = (fromUs: number, toUs: number) => fromUs + random.next() * (toUs - fromUs)
  const localUs = (node: FakeNode) => Math.floor(queue.nowUs() * node.rate + node.offsetUs)
  const names = [...database.tables.leases.keys()]
  const { presets = [] } = options
  const somePresets = () => presets.filter(() => random.chance(0.5))
  const needed = new Map(
    presets.length === 0
      ? []
      : names.filter((name) => leaseKindOf(name) === 'account').map((name) => [name, somePresets()] as const),
  )
  const presetsOf = Array.from({ length: options.nodes }, somePresets)

  const freshLeases = (nodeId: string) =>
    newLeases({ nodeId, newTerm: () => `n${terms++}`, random: random.next, needs: () => needed })
  const newNode = (number: number): FakeNode => {
    const id = `node ${ids++}`
    const clock = { offsetUs: Math.floor(between(-1e12, 1e12)), rate: between(0.95, 1.05) }
    return {
      number,
      presets: presetsOf[number] ?? [],
      ...clock,
      id,
      leases: freshLeases(id),
      frozenToUs: 0,
      isRunning: true,
      isLeaving: false,
      connection: 0,
    }
  }
  const nodes = Array.from({ length: options.nodes }, (_, number) => newNode(number))

  function check(): void {
    const trusting = nodes.filter((node) => node.isRunning && node.leases.isTrusted(localUs(node)))
    if (trusting.length < 2) return
    for (const name of names) {
      const owners = trusting.filter((node) => node.leases.holds(name))
      if (owners.length > 1) fault ??= `at ${queue.nowUs()} ${name} has ${owners.map(({ id }) => id).join(' and ')}`
    }
  }

  /** Something that a node does: later if it is frozen, never if it was killed. */
  function act(node: FakeNode, id: string, action: () => void): void {
    if (!node.isRunning || node.id !== id) return
    if (node.frozenToUs > queue.nowUs()) queue.at(node.frozenToUs, () => act(node, id, action))
    else action()
  }

  /** Sends a statement. It may take effect without an answer, or after its sender gave up. */
  function send<T>(node: FakeNode, statement: () => T, then: (answer: { value: T } | undefined) => void): void {
    const { id } = node
    let isOver = false
    const end = (answer: { value: T } | undefined) => {
      if (isOver) return
      isOver = true
      act(node, id, () => {
        if (answer === undefined && !isKnownToBeTheSame) node.leases.statementFailed()
        then(answer)
        // Trust begins with an answer, and nowhere else.
        check()
      })
    }
    if (!database.isUp || node.connection !== database.connections) {
      node.connection = database.connections
      queue.in(between(0, 50_000), () => end(undefined))
      return
    }
    const { connection } = node
    // Frozen while it waits: when it wakes the answer is there, and is of long ago.
    if (!isQuiet() && random.chance(0.02)) node.frozenToUs = queue.nowUs() + between(0, 9 * SECOND)
    const isOdd = !isQuiet() && random.chance(0.08)
    const thereUs = isOdd ? between(0, 8 * SECOND) : between(100, 20_000)
    const backUs = !isQuiet() && random.chance(0.04) ? between(0, 4 * SECOND) : between(100, 20_000)
    const isLost = !isQuiet() && random.chance(0.04)
    queue.in(thereUs, () => {
      if (!database.isUp || connection !== database.connections) return end(undefined)
      const value = statement()
      if (!isLost) queue.in(backUs, () => end({ value }))
    })
    queue.in(DEADLINE_US, () => end(undefined))
  }

  const isFree = ({ node }: Row) => node === null || database.tables.nodes.get(node)?.dead !== false
  function view(): ClusterView {
    const { nodes: known, leases } = database.tables
    const rows = [...leases].map(([name, { node, term }]) => ({ name, node, term }))
    const counts: { node: string | null; kind: string; count: number }[] = []
    for (const row of rows) {
      const [node, kind] = [isFree(row) ? null : row.node, leaseKindOf(row.name)]
      const count = counts.find((one) => one.node === node && one.kind === kind)
      if (count === undefined) counts.push({ node, kind, count: 1 })
      else count.count += 1
    }
    return {
      databaseUs: queue.nowUs(),
      nodes: [...known]
        .filter(([, { dead }]) => !dead)
        .map(([id, { beat, isLeaving, presets }]) => ({ id, beat, pbxs: [], presets, isLeaving })),
      own: [],
      free: rows.filter(isFree),
      counts,
      owners: [],
    }
  }
  function beat({ id, isLeaving, presets }: FakeNode): ClusterView | undefined {
    const row = database.tables.nodes.get(id)
    if (row?.dead === true) return undefined
    database.tables.nodes.set(id, { beat: (row?.beat ?? 0) + 1, dead: false, isLeaving, presets })
    const own = [...database.tables.leases].filter(([, { node }]) => node === id)
    return { ...view(), own: own.map(([name, { term }]) => ({ name, term })) }
  }
  function claim(id: string, claims: readonly Claim[]): string[] {
    const taken = claims.filter(({ name, seenTerm }) => database.tables.leases.get(name)?.term === seenTerm)
    for (const { name, newTerm } of taken) database.tables.leases.set(name, { node: id, term: newTerm })
    return taken.map(({ name }) => name)
  }
  function give(gift: { name: string; term: string; to: string | null }): void {
    if (database.tables.leases.get(gift.name)?.term === gift.term)
      database.tables.leases.set(gift.name, { node: gift.to, term: `g${terms++}` })
  }

  /** The steps of one node, one after the other, as the keeper of its leases takes them. */
  function step(node: FakeNode): void {
    const { id } = node
    const sentUs = localUs(node)
    const again = (soonerUs = Number.POSITIVE_INFINITY) =>
      queue.in(Math.min(between(0.8, 1.2) * STEP_US, soonerUs / node.rate + 1), () => act(node, id, () => step(node)))
    send(
      node,
      () => ({ view: beat(node) }),
      (answer) => {
        if (answer === undefined) return again()
        if (answer.value.view === undefined) {
          node.leases.declaredDead()
          node.id = `node ${ids++}`
          node.leases = freshLeases(node.id)
          if (node.isLeaving) node.leases.leave()
          return step(node)
        }
        const plan = node.leases.heartbeatReceived(answer.value.view, { sentUs, nowUs: localUs(node) })
        carryOut(node, plan, again)
      },
    )
  }

  function carryOut(node: FakeNode, plan: LeasePlan, done: (soonerUs?: number) => void): void {
    const { id, leases } = node
    const todo: ((next: () => void) => void)[] = []
    for (const silent of plan.silent)
      todo.push((next) =>
        send(
          node,
          () => {
            const row = database.tables.nodes.get(silent.id)
            if (row?.beat === silent.beat) row.dead = true
          },
          next,
        ),
      )
    if (plan.claims.length > 0)
      todo.push((next) =>
        send(
          node,
          () => claim(id, plan.claims),
          (answer) => {
            if (answer !== undefined) leases.claimed(plan.claims, answer.value)
            next()
          },
        ),
      )
    const begun = plan.handOvers.flatMap(({ name, to }) => {
      const term = leases.termOf(name)
      return term !== undefined && leases.give(name) ? [{ name, term, to }] : []
    })
    const gifts = [...plan.giving.map((lease) => ({ ...lease, to: plan.heirs.get(lease.name) ?? null })), ...begun]
    for (const gift of gifts)
      todo.push((next) =>
        send(
          node,
          () => give(gift),
          (answer) => {
            if (answer !== undefined) leases.handedOver([gift])
            next()
          },
        ),
      )
    const run = () => {
      const one = todo.shift()
      if (one === undefined) done(plan.moreInUs)
      else one(run)
    }
    run()
  }

  /** A node that stops hands over all that it has; another starts in its place. */
  function leave(node: FakeNode): void {
    if (node.isLeaving) return
    node.isLeaving = true
    node.leases.leave()
    queue.in(between(0, 3 * SECOND), () => {
      if (!node.isRunning) return
      node.isRunning = false
      if (random.chance(0.5) && database.isUp) {
        const row = database.tables.nodes.get(node.id)
        if (row !== undefined) row.dead = true
      }
      const fresh = newNode(node.number)
      nodes[nodes.indexOf(node)] = fresh
      step(fresh)
    })
  }

  function disturb(): void {
    if (isQuiet()) return
    const node = random.pick(nodes)
    const which = random.int(11)
    if (!node.isRunning) return void queue.in(between(0, SECOND), disturb)
    if (which < 5) node.frozenToUs = Math.max(node.frozenToUs, queue.nowUs() + between(0, 9 * SECOND))
    else if (which < 7) {
      node.isRunning = false
      queue.in(between(0, 3 * SECOND), () => {
        const at = nodes.indexOf(node)
        const fresh = newNode(node.number)
        nodes[at] = fresh
        step(fresh)
      })
    } else if (which < 8) leave(node)
    else {
      database.isUp = false
      database.connections += 1
      queue.in(between(0, 5 * SECOND), () => {
        database.isUp = true
      })
    }
    queue.in(between(0, 4 * SECOND), disturb)
  }

  for (const node of nodes) queue.in(between(0, SECOND), () => step(node))
  queue.in(between(4 * SECOND, 8 * SECOND), disturb)
  const endUs = options.lastsUs + options.quietUs
  while (fault === undefined && queue.nowUs() < endUs && queue.next());
  if (fault !== undefined || options.quietUs === 0) return fault
  for (const name of names) {
    const owners = nodes.filter((node) => node.leases.holds(name) && node.leases.isTrusted(localUs(node)))
    if (owners.length !== 1) return `${name} has ${owners.length} owners after a quiet time`
  }
  const accountsOf = ({ leases }: FakeNode) => leases.names().filter((name) => leaseKindOf(name) === 'account')
  const lackOf = ({ presets }: FakeNode, name: string) =>
    (needed.get(name) ?? []).filter((preset) => !presets.includes(preset)).length
  for (const node of nodes)
    for (const name of accountsOf(node))
      for (const other of nodes) {
        const [here, there] = [lackOf(node, name), lackOf(other, name)]
        if (there < here) return `${name} lacks ${here} presets at ${node.id}, and ${there} at ${other.id}`
        const isUneven = accountsOf(node).length - accountsOf(other).length > 1
        if (there === here && isUneven)
          return `accounts are shared out as ${nodes.map((one) => accountsOf(one).length)}`
      }
  return undefined
}

type Agenda = {
  nowUs(): number
  at(atUs: number, action: () => void): void
  in(us: number, action: () => void): void
  next(): boolean
}

/** The agenda of a game: a heap by time. */
function newAgenda(): Agenda {
  const heap: { atUs: number; action: () => void }[] = []
  let nowUs = 0
  const before = (a: number, b: number) =>
    (heap[a]?.atUs ?? Number.POSITIVE_INFINITY) < (heap[b]?.atUs ?? Number.POSITIVE_INFINITY)
  function swap(a: number, b: number): void {
    const [one, other] = [heap[a], heap[b]]
    if (one === undefined || other === undefined) return
    heap[a] = other
    heap[b] = one
  }
  const agenda: Agenda = {
    nowUs: () => nowUs,
    at(atUs, action) {
      heap.push({ atUs: Math.max(atUs, nowUs), action })
      for (let at = heap.length - 1; at > 0 && before(at, (at - 1) >> 1); at = (at - 1) >> 1) swap(at, (at - 1) >> 1)
    },
    in: (us, action) => agenda.at(nowUs + us, action),
    next() {
      const first = heap[0]
      if (first === undefined) return false
      const last = heap.pop()
      if (last !== undefined && heap.length > 0) heap[0] = last
      for (let at = 0; ; ) {
        const least = before(2 * at + 2, 2 * at + 1) ? 2 * at + 2 : 2 * at + 1
        if (!before(least, at)) break
        swap(least, at)
        at = least
      }
      nowUs = first.atUs
      first.action()
      return true
    },
  }
  return agenda
}
