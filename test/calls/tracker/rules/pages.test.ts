import { expect, test } from 'bun:test'
import { asteriskScene } from '../../../help/asterisk-scene.ts'
import { createLedger } from '../../../help/ledger.ts'
import type { Random } from '../../../help/random.ts'
import { playCase, seedsOf } from '../../../help/seed.ts'

// The PBX rings each phone of a page by itself: however their events interleave, a page is one call.

const SEEDS = seedsOf(20_261_123, 200)
/** What the tracker is known to get wrong: phones of a page answer in the order of its list, not of time. */
const PAGES = [
  'who handled a call stays',
  'a group or queue is answered by a member',
  'members are within their group or queue',
]
const CONFERENCE = { BridgeCreator: 'ConfBridge', BridgeType: 'base' }

/** Plays a page to some phones: each answers or not, in random order. */
function playPage(random: Random) {
  const pbx = asteriskScene()
  const phones = Array.from({ length: 1 + random.int(5) }, (_, index) => String(101 + index))
  const answering = new Set(phones.filter((_, index) => index === 0 || random.chance(0.7)))
  pbx.call('pager', '199', '500')
  const steps = phones.map((phone) => stepsOf(pbx, phone, answering.has(phone)))
  steps.push([() => pbx.state('pager', 6), () => pbx.enter('pager', 'page', CONFERENCE)])
  while (steps.some((left) => left.length > 0)) {
    random.pick(steps.filter((left) => left.length > 0)).shift()?.()
    pbx.later(random.int(60))
  }
  pbx.later(6_000)
  for (const phone of phones.filter((one) => !answering.has(one))) {
    pbx.dialEnd(`two-${phone}`, phone, 'NOANSWER')
    for (const key of [phone, `two-${phone}`, `one-${phone}`]) pbx.hangup(key, 0)
  }
  pbx.later(2_000)
  pbx.end('pager', ...[...answering].flatMap((phone) => [`one-${phone}`, `two-${phone}`, phone]))
  return { phones, answering, bodies: pbx.over().bodies }
}

function stepsOf(pbx: ReturnType<typeof asteriskScene>, phone: string, answers: boolean): (() => void)[] {
  const [one, two] = [`one-${phone}`, `two-${phone}`]
  return [
    () => pbx.local(one, two, `PAGE${phone}`),
    () => pbx.dialBegin(null, one, `PAGE${phone}@app-paging`),
    () => pbx.channel(phone, `PJSIP/${phone}`, { linked: one, num: '199' }),
    () => pbx.dialBegin(two, phone, phone),
    () => pbx.ringing(two, phone),
    ...(answers
      ? [
          () => pbx.answer(two, phone),
          () => pbx.state(one, 6),
          () => pbx.dialEnd(null, one, 'ANSWER'),
          () => pbx.enter(one, 'page', CONFERENCE),
        ]
      : []),
  ]
}

test(`${SEEDS.length} pages are one call each, from the pager, with every phone in its group`, () => {
  for (const seed of SEEDS) {
    const { phones, answering, bodies } = playCase(seed, playPage)
    const ledger = createLedger(PAGES)
    ledger.take(
      bodies.map((body) => {
        const { id, name, call, sequence } = body.data
        return { id, name, callId: call.id, sequence, atUs: 0, body, dialled: [] }
      }),
    )
    ledger.finish()
    const ended = bodies.flatMap(({ data }) => (data.name === 'call_ended' ? [data] : []))
    expect(ended.map(({ call }) => `${call.from.extension} ${call.to.number} ${call.result} ${call.missed}`)).toEqual([
      '199 500 answered false',
    ])
    const stages = ended.flatMap((one) => one.stages)
    const group = stages.find(({ kind }) => kind === 'group')
    expect(group?.target).toBe('500')
    const members = stages.filter(({ kind }) => kind === 'user')
    expect(members.map(({ target, result }) => `${target} ${result}`).toSorted()).toEqual(
      phones.map((phone) => `${phone} ${answering.has(phone) ? 'answered' : 'no_answer'}`),
    )
    expect(new Set(members.map(({ parent_id }) => parent_id))).toEqual(new Set([group?.id ?? null]))
  }
})
