import { test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { asteriskEvents } from '../../help/asterisk-recording.ts'
import { CONTINUES } from '../../help/continues.ts'
import { callsOf, expectSameCalls } from '../../help/other-orders.ts'
import { FIXTURES } from '../../help/recording.ts'
import { reordered } from '../../help/reordered-asterisk.ts'
import { playCase, seedsOf } from '../../help/seed.ts'

const SEEDS = seedsOf(20_261_123, 20)

/** Known faults: the end of a queue overtakes the connection of an agent who waits on the line; a REFER overtakes its bridge. */
const OVERTAKEN: ReadonlySet<string> = new Set([
  'q-agent-login',
  'y-agent-ack',
  'three-way-then-refer',
  'three-way-two-refers',
])
const second = new Set(Object.values(CONTINUES))
const names = readdirSync(join(FIXTURES, 'asterisk'))
  .filter((file) => file.endsWith('.expected'))
  .map((file) => file.replace('.expected', ''))
  .filter((name) => CONTINUES[name] === undefined && !second.has(name) && !OVERTAKEN.has(name))

test.each(names)(`%s gives the same in ${SEEDS.length} other orders`, (name) => {
  const original = callsOf(asteriskEvents([name]))
  for (const seed of SEEDS)
    playCase(seed, (random) =>
      expectSameCalls(
        asteriskEvents([name], (blocks) => reordered(blocks, random)),
        original,
      ),
    )
})
