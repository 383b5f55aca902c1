import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { GUIDE, judgeRecordings, markdownTable, TABLE } from './truth.ts'

const { wrong, rows } = judgeRecordings()

test('all recordings of real PBXs give exactly their events', () => expect(wrong).toEqual([]))

test('the guide has the table that bun run truth prints (bun run truth --write)', () => {
  expect(TABLE.exec(readFileSync(GUIDE, 'utf8'))?.[0].trim()).toBe(markdownTable(rows))
})
