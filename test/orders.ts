import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { CallEvent } from '../src/events/bodies.ts'
import { asRecorded, asteriskEvents } from './help/asterisk-recording.ts'
import { CONTINUES } from './help/continues.ts'
import { differences } from './help/expected-compare.ts'
import { createRandom, type Random } from './help/random.ts'
import { FIXTURES } from './help/recording.ts'
import { reordered } from './help/reordered-asterisk.ts'
import { eventsOf, framesOf, reorderedFrames } from './help/reordered-freeswitch.ts'
import { seedsOf } from './help/seed.ts'

// bun run orders [FOLDER] [--times 20] [--all]: plays each recording as recorded and in other orders in which the PBX
// could have sent it, and prints the orders that give other events than `.expected`: in the short words, and with every
// fact. `--all` also prints how each one differs.

type Case = { readonly name: string; readonly inOrder: (random?: Random) => readonly CallEvent[] }

const { values, positionals } = parseArgs({
  options: { times: { type: 'string', default: '20' }, all: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const [folder = FIXTURES] = positionals
const times = Number(values.times)
if (!(times > 0)) throw new Error(`--times ${values.times} is not a number of orders`)
const SEEDS = seedsOf(20_261_128, times)

/** Returns the recordings of one connection each. */
function casesOf(pbx: 'asterisk' | 'freeswitch'): Case[] {
  const own = join(folder, pbx)
  if (!existsSync(own)) return []
  const second = new Set(Object.values(CONTINUES))
  const names = readdirSync(own)
    .filter((file) => file.endsWith('.expected'))
    .map((file) => file.replace('.expected', ''))
    .filter((name) => CONTINUES[name] === undefined && !second.has(name))
  return names.map((name) => ({
    name: `${pbx}/${name}`,
    inOrder: (random) => {
      if (pbx === 'asterisk')
        return asteriskEvents([name], random === undefined ? asRecorded : (blocks) => reordered(blocks, random), {
          folder,
        })
      const frames = framesOf(name, folder)
      return eventsOf(random === undefined ? frames : reorderedFrames(frames, random))
    },
  }))
}

const WORDS = { all: true, facts: 'none' } as const
const FACTS = { all: true } as const

for (const pbx of ['asterisk', 'freeswitch'] as const) {
  const cases = casesOf(pbx)
  const differ = { words: new Map<string, number>(), facts: new Map<string, number>() }
  for (const { name, inOrder } of cases) {
    const wanted = readFileSync(join(folder, `${name}.expected`), 'utf8')
    const wrongOf = (options: typeof WORDS | typeof FACTS, random?: Random): string[] =>
      differences(
        inOrder(random).map(({ body }) => body),
        wanted,
        options,
      )
    // What differs as recorded, too, is not the order's.
    for (const [kind, options] of [
      ['words', WORDS],
      ['facts', FACTS],
    ] as const) {
      const known = new Set(wrongOf(options))
      const wrong = SEEDS.map((seed) => wrongOf(options, createRandom(seed)).filter((one) => !known.has(one)))
      const count = wrong.filter((one) => one.length > 0).length
      if (count > 0) differ[kind].set(name, count)
      if (values.all) for (const line of new Set(wrong.flat())) console.log(`${name} (${kind}): ${line}`)
    }
  }
  for (const [kind, recordings] of Object.entries(differ)) {
    const sum = [...recordings.values()].reduce((one, other) => one + other, 0)
    console.log(
      `${pbx}, ${kind}: ${sum} of ${cases.length * SEEDS.length} orders differ, of ${recordings.size} recordings`,
    )
    for (const [name, count] of recordings) console.log(`  ${name}: ${count} of ${SEEDS.length}`)
  }
}
