import { expect, test } from 'bun:test'
import { blocksOf } from '../help/expected.ts'
import { freeswitchScene } from '../help/freeswitch-scene.ts'
import type { Random } from '../help/random.ts'
import { reorder } from '../help/reorder.ts'
import { playCase, seedsOf } from '../help/seed.ts'

// Random groups on a FreeSWITCH: phones, phones behind loopback channels and groups behind those, with every possible
// end. The events of each leg overtake other legs' events, as on a busy machine. The truth is known, since the test
// makes it.

const SEEDS = seedsOf(20_261_123, 400)
/** Events of legs overtake each other by less than this. */
const MAX_DELAY_US = 90_000

type Scene = ReturnType<typeof freeswitchScene>
type Party = { readonly id: string; readonly extension: string; readonly isBusy: boolean }
/** A member of the outer group: a phone, a phone behind a loopback channel (`half`), or a group behind one (`place`). */
type Member = { readonly half: string | null; readonly place: string | null; readonly parties: readonly Party[] }
type Outcome = 'answered' | 'cancelled' | 'no_answer'

const OUTER = '600'

function membersOf(random: Random): Member[] {
  let count = 0
  const party = (mayBeBusy: boolean): Party => {
    const extension = String(1001 + count++)
    return { id: `P${extension}`, extension, isBusy: mayBeBusy && random.chance(0.2) }
  }
  return Array.from({ length: 2 + random.int(3) }, (_, index): Member => {
    // One is left that does not end before the others.
    const mayBeBusy = index > 0
    const kind = random.int(3)
    if (kind === 0) return { half: null, place: null, parties: [party(mayBeBusy)] }
    const half = `L${index}`
    if (kind === 1) return { half, place: null, parties: [party(mayBeBusy)] }
    return {
      half,
      place: String(601 + index),
      parties: [party(false), ...[1, 2].slice(random.int(2)).map(() => party(true))],
    }
  })
}

/** The variables by which FusionPBX's script shows a group. */
const mark = (place: string) => ({
  ring_group_uuid: `2f1c0f6e-5a52-4e0f-9f5a-000000000${place}`,
  current_application: 'lua',
  current_application_data: 'app.lua ring_groups',
})

/** How a PBX shows its groups: FusionPBX by variables, others by the strings that they dial, or by the dials alone. */
type Shown = 'marked' | 'dialled' | 'alone'

/** A leg begins to dial these targets at once, as the event of `bridge` shows. */
const dials = (pbx: Scene, leg: string, targets: readonly string[]): void =>
  pbx.emit('CHANNEL_EXECUTE', leg, { Application: 'bridge', 'Application-Data': targets.join(',') })

const targetOf = ({ half, place, parties }: Member): string =>
  half === null ? `user/${parties[0]?.extension}@pbx` : `loopback/${place ?? parties[0]?.extension}/default`

function ringAll(pbx: Scene, members: readonly Member[], shown: Shown): void {
  const isMarked = shown === 'marked'
  pbx.inbound('A', '15551230001', '15550100103')
  pbx.move('A', OUTER)
  if (isMarked) pbx.set('A', mark(OUTER))
  if (shown === 'dialled') dials(pbx, 'A', members.map(targetOf))
  for (const { half, place, parties } of members) {
    const where = half === null ? OUTER : (place ?? parties[0]?.extension ?? '')
    if (half !== null) {
      const loopback = { 'Caller-Destination-Number': where }
      const dialled = { 'Other-Type': 'originator', 'Other-Leg-Unique-ID': 'A', 'Other-Leg-Destination-Number': OUTER }
      pbx.create(
        `${half}a`,
        'outbound',
        { 'Channel-Name': `loopback/${where}-a`, ...loopback, ...dialled },
        { loopback_leg: 'A' },
      )
      const second = { loopback_leg: 'B', other_loopback_leg_uuid: `${half}a` }
      pbx.create(`${half}b`, 'inbound', { 'Channel-Name': `loopback/${where}-b`, ...loopback }, second)
      if (isMarked && place !== null) pbx.set(`${half}b`, mark(place))
      const inner = parties.map(({ extension }) => `user/${extension}@pbx`)
      if (shown === 'dialled' && place !== null) dials(pbx, `${half}b`, inner)
    }
    const source = half === null ? 'A' : `${half}b`
    for (const { id, extension } of parties) {
      pbx.dial(source, id, extension, {}, { 'Other-Leg-Destination-Number': where })
    }
    if (half !== null) pbx.emit('CHANNEL_PROGRESS', `${half}b`)
  }
  pbx.emit('CHANNEL_PROGRESS', 'A')
}

function endMember(pbx: Scene, { half, parties }: Member, causes: { outer: string; inner: string }, except = ''): void {
  if (half !== null) for (const id of [`${half}a`, `${half}b`]) pbx.hangup(id, causes.outer)
  for (const { id, isBusy } of parties)
    if (!isBusy && id !== except) pbx.hangup(id, half === null ? causes.outer : causes.inner)
}

const isOver = ({ parties }: Member): boolean => parties.every(({ isBusy }) => isBusy)

function play(pbx: Scene, members: readonly Member[], outcome: Outcome, winner: Party, bowsOut: boolean): void {
  pbx.later(1_000)
  for (const member of members) {
    for (const { id, isBusy } of member.parties) if (isBusy) pbx.hangup(id, 'USER_BUSY')
    if (isOver(member) && member.half !== null) endMember(pbx, member, { outer: 'USER_BUSY', inner: '' })
  }
  pbx.later(2_000)
  const open = members.filter((member) => !isOver(member))
  if (outcome === 'cancelled') {
    pbx.set('A', { sip_hangup_disposition: 'recv_cancel' })
    pbx.hangup('A', 'ORIGINATOR_CANCEL')
    for (const member of open) endMember(pbx, member, { outer: 'ORIGINATOR_CANCEL', inner: 'ORIGINATOR_CANCEL' })
    return
  }
  if (outcome === 'no_answer') {
    for (const member of open) endMember(pbx, member, { outer: 'NO_ANSWER', inner: 'NO_ANSWER' })
    pbx.hangup('A', 'NO_ANSWER')
    return
  }
  const own = open.find(({ parties }) => parties.includes(winner))
  const half = own?.half ?? null
  pbx.answer(winner.id)
  for (const { id, isBusy } of own?.parties ?? []) if (id !== winner.id && !isBusy) pbx.hangup(id, 'LOSE_RACE')
  if (half !== null) {
    pbx.answer(`${half}a`)
    pbx.answer(`${half}b`)
    pbx.bridge(`${half}b`, winner.id)
  }
  for (const member of open)
    if (member !== own) endMember(pbx, member, { outer: 'LOSE_RACE', inner: 'ORIGINATOR_CANCEL' })
  pbx.answer('A')
  pbx.bridge('A', half === null ? winner.id : `${half}a`)
  pbx.later(2_000)
  if (half !== null && bowsOut) {
    pbx.unbridge(`${half}b`, winner.id)
    pbx.unbridge('A', `${half}a`)
    pbx.bridge('A', winner.id)
    for (const id of [`${half}a`, `${half}b`]) pbx.hangup(id)
    pbx.later(2_000)
    pbx.end('A', winner.id)
  } else pbx.end('A', ...(half === null ? [] : [`${half}a`, `${half}b`]), winner.id)
}

function wanted(members: readonly Member[], outcome: Outcome, winner: Party): string[] {
  const resultOf = (party: Party): string => {
    if (party.isBusy) return 'busy'
    if (outcome !== 'answered') return outcome
    return party === winner ? 'answered' : 'answered_elsewhere'
  }
  const groupResult = (parties: readonly Party[]): string => {
    const results = parties.map(resultOf)
    const rank = ['answered', 'answered_elsewhere', 'no_answer', 'cancelled', 'busy']
    return rank.find((one) => results.includes(one)) ?? ''
  }
  const parties = members.flatMap((member) => member.parties)
  const groups = [{ place: OUTER, parties }, ...members].filter(({ place }) => place !== null)
  return [
    'call_started inbound 15551230001 15550100103',
    ...parties.map(({ extension }) => `dial_started user ${extension}`),
    ...(outcome === 'answered' ? [`dial_answered user ${winner.extension}`] : []),
    ...parties.map((party) => `dial_ended user ${party.extension} ${resultOf(party)}`),
    ...groups
      .filter((group) => group.place === OUTER || group.parties.length > 1)
      .map((group) => `dial_ended group ${group.place} ${groupResult(group.parties)}`),
    `call_ended ${outcome} owner ${outcome === 'answered' ? winner.extension : '-'}`,
    'call_saved recordings 0',
  ]
}

test(`${SEEDS.length} random groups, each in another order of events, give their true events`, () => {
  for (const seed of SEEDS) {
    playCase(seed, (random) => {
      const members = membersOf(random)
      const candidates = members.flatMap(({ parties }) => parties.filter(({ isBusy }) => !isBusy))
      const winner = random.pick(candidates)
      const outcome = random.pick<Outcome>(['answered', 'answered', 'cancelled', 'no_answer'])
      const pbx = freeswitchScene(undefined, (frames) => reorder(frames, random, MAX_DELAY_US))
      ringAll(pbx, members, random.pick<Shown>(['marked', 'dialled', 'alone']))
      play(pbx, members, outcome, winner, random.chance(0.5))
      const lines = blocksOf(pbx.over().bodies).map((block) => block.filter((line) => !line.startsWith('call_missed')))
      expect(lines.map((block) => block.toSorted())).toEqual([wanted(members, outcome, winner).toSorted()])
    })
  }
})

test('the members of a group that a dial string names belong to it from their first ringing, whenever each is dialled', () => {
  for (const seed of SEEDS) {
    playCase(seed, (random) => {
      const phones = Array.from({ length: 2 + random.int(3) }, (_, index) => String(1001 + index))
      const pbx = freeswitchScene()
      pbx.inbound('A', '15551230001', '15550100103')
      pbx.move('A', OUTER)
      const all = phones.map((one) => `[leg_delay_start=${random.int(3)}]user/${one}@pbx`)
      dials(pbx, 'A', all)
      const busy = phones.slice(0, -1).filter(() => random.chance(0.4))
      for (const phone of phones) {
        pbx.dial('A', phone, phone, {}, { 'Other-Leg-Destination-Number': OUTER })
        pbx.later(random.int(2_000))
        if (busy.includes(phone)) pbx.hangup(phone, 'USER_BUSY')
        pbx.later(random.int(2_000))
      }
      for (const phone of phones) if (!busy.includes(phone)) pbx.hangup(phone, 'NO_ANSWER')
      pbx.emit('CHANNEL_EXECUTE_COMPLETE', 'A', { Application: 'bridge', 'Application-Data': all.join(',') })
      // The caller goes on to an announcement of the same extension.
      pbx.later(5_000)
      pbx.end('A')
      const stages = pbx
        .over()
        .bodies.flatMap(({ data }) => ('stage' in data && data.stage !== null ? [data.stage] : []))
      const [group, ...others] = stages.filter(({ kind }) => kind === 'group')
      const members = stages.filter(({ kind }) => kind === 'user')
      expect(others).toEqual([])
      expect([stages.at(-1), group?.result]).toEqual([group, 'no_answer'])
      expect(members.map(({ parent_id: parent }) => parent)).toEqual(members.map(() => group?.id ?? 'none'))
      const lastEnd = members
        .map(({ ended_at: endedAt }) => endedAt ?? '')
        .toSorted()
        .at(-1)
      expect(group?.ended_at ?? '').toBe(lastEnd ?? 'none')
    })
  }
})

test('parties that a dial string rings in turn, or some at once and others later, are one group, in any order of events', () => {
  for (const seed of SEEDS) {
    playCase(seed, (random) => {
      const phones = Array.from({ length: 2 + random.int(3) }, (_, index) => String(1001 + index))
      const pbx = freeswitchScene(undefined, (frames) => reorder(frames, random, MAX_DELAY_US))
      pbx.inbound('A', '15551230001', '15550100103')
      pbx.move('A', OUTER)
      const all = phones.map((one) => `user/${one}@pbx`).join('|') + random.pick(['', ',user/1001@pbx'])
      pbx.emit('CHANNEL_EXECUTE', 'A', { Application: 'bridge', 'Application-Data': all })
      pbx.later(MAX_DELAY_US / 1_000)
      for (const phone of phones) {
        pbx.dial('A', phone, phone, {}, { 'Other-Leg-Destination-Number': OUTER })
        pbx.later(40 + random.int(500))
        pbx.hangup(phone, random.chance(0.5) ? 'USER_BUSY' : 'CALL_REJECTED')
      }
      pbx.emit('CHANNEL_EXECUTE_COMPLETE', 'A', { Application: 'bridge', 'Application-Data': all })
      pbx.hangup('A', 'USER_BUSY')
      const told = pbx.over().bodies.flatMap(({ data }) => ('stage' in data && data.stage !== null ? [data.stage] : []))
      const groups = told.filter(({ kind }) => kind === 'group')
      expect(groups.map(({ target, attempt }) => ({ target, attempt }))).toEqual([{ target: OUTER, attempt: 1 }])
      const members = told.filter(({ kind }) => kind === 'user')
      expect(members.map(({ parent_id: parent }) => parent)).toEqual(members.map(() => groups[0]?.id ?? 'none'))
    })
  }
})
