import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { KNOWN } from './help/known-differences.ts'
import { GUIDE, judgeRecordings, markdownTable, TABLE } from './truth.ts'

const { wrong, rows } = judgeRecordings()

test('all recordings of real PBXs give exactly their events, but for what known-differences.json has', () => {
  const known = Object.entries(KNOWN).map(([name, { differences }]) => [name, differences])
  expect(Object.fromEntries(wrong)).toEqual(Object.fromEntries(known))
})

test('the guide has the table that bun run truth prints (bun run truth --write)', () => {
  expect(TABLE.exec(readFileSync(GUIDE, 'utf8'))?.[0].trim()).toBe(markdownTable(rows))
})
