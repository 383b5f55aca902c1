import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { KNOWN } from './help/known-differences.ts'
import { GUIDE, judgeRecordings, markdownTable, TABLE } from './truth.ts'

const { wrong, broken, rows } = judgeRecordings()

test('all recordings of real PBXs give exactly their events, but for what known-differences.json has', () => {
  const known = Object.entries(KNOWN).filter(([, { differences }]) => differences.length > 0)
  expect(Object.fromEntries(wrong)).toEqual(
    Object.fromEntries(known.map(([name, { differences }]) => [name, differences])),
  )
})

test('all recordings keep the rules for every list of events, but for what known-differences.json has', () => {
  const rulesOf = (breaks: readonly string[]) => [...new Set(breaks.map((one) => one.split(': call ')[0]))].toSorted()
  const known = Object.entries(KNOWN).filter(([, { rules }]) => rules.length > 0)
  expect(Object.fromEntries([...broken].map(([name, breaks]) => [name, rulesOf(breaks)]))).toEqual(
    Object.fromEntries(known.map(([name, { rules }]) => [name, [...rules]])),
  )
})

test('the guide has the table that bun run truth prints (bun run truth --write)', () => {
  expect(TABLE.exec(readFileSync(GUIDE, 'utf8'))?.[0].trim()).toBe(markdownTable(rows))
})
