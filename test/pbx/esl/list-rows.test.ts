import { expect, test } from 'bun:test'
import { listRows, listRowsInSteps } from '../../../src/pbx/esl/list-rows.ts'

const rows = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    uuid: `u${at}`,
    // Texts that look like the place between two rows.
    name: `},{"x":"${at}`,
    application_data: 'y'.repeat(300),
  }))

test.each(['', '\n'])('a long list is read in steps, each row once and whole (between rows: %j)', (between) => {
  const all = rows(5_000)
  const text = `{"row_count":5000,"rows":[${all.map((row) => JSON.stringify(row)).join(`,${between}`)}]}\n`
  const steps = listRowsInSteps(text)
  let count = 1
  let step = steps.next()
  for (; step.done !== true; step = steps.next()) count += 1
  expect(step.value).toEqual(all)
  expect(count).toBeGreaterThan(5)
  expect(listRows(text)).toEqual(all)
})

test.each([
  '',
  '-ERR no reply',
  '{"row_count":0}',
  '{"rows":{}}',
  '{"rows":[1,null,"x"]}',
  `{"rows":[${'['.repeat(200)}`,
])('what is no list has no rows: %s', (text) => expect(listRows(text)).toEqual([]))
