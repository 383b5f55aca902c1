import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fieldWriters } from '../../help/field-writers.ts'
import { FIXTURES } from '../../help/recording.ts'

const TABLE = JSON.parse(readFileSync(join(FIXTURES, 'field-writers.json'), 'utf8')) as Record<string, string[]>

const EXTRA = `
import type { Call, Channel, QueueState, Stage, TrackerState } from '../state/state.ts'
function writes(state: TrackerState, call: Call, { dial }: Channel, stage: Stage, queue: Omit<QueueState, 'place'>) {
  call.answeredBy = null
  call.transferCount++
  queue.leftUs ??= 1
  if (dial !== null) [dial.rangUs, dial.endedUs] = [1, 2]
  ;({ rang: stage.rang } = { rang: true })
  Object.assign(stage.emitted, { ended: true })
  stage.legs.push('leg')
  state.parked.add('channel')
  delete stage.failedSeq
}
const reads = (call: Call): unknown[] => [call.did, { ...call, did: 'x' }, call.stages.filter(({ own }) => own)]
`
const EXTRA_FILE = 'rules/extra.ts'
const WRITERS = fieldWriters({ [EXTRA_FILE]: EXTRA })

test('each field of the state is written by the files in the table, and by no other', () => {
  // Whoever adds a writer to a field moves the rule to a file that writes it; a writer that is gone leaves the table.
  const own = Object.entries(WRITERS).map(([field, files]) => [field, files.filter((file) => file !== EXTRA_FILE)])
  expect(Object.fromEntries(own.filter(([, files]) => files?.length !== 0))).toEqual(TABLE)
})

test('every way of writing a field is found, and what reads it is not', () => {
  const found = Object.entries(WRITERS).flatMap(([field, files]) => (files.includes(EXTRA_FILE) ? [field] : []))
  expect(found).toEqual([
    'Call.answeredBy',
    'Call.transferCount',
    'Dial.endedUs',
    'Dial.rangUs',
    'QueueState.leftUs',
    'Stage.emitted.ended',
    'Stage.failedSeq',
    'Stage.legs',
    'Stage.rang',
    'TrackerState.parked',
  ])
})

const CALLS = join(import.meta.dir, '../../../src/calls')
const README = readFileSync(join(CALLS, 'README.md'), 'utf8')

/** The rows of a table of the README whose last cell names files. */
const rowsOf = (title: string): string[][] => {
  const [, section = ''] = README.split(`## ${title}\n`)
  const [text = ''] = section.split('\n## ')
  return text.split('\n').flatMap((line) => (/^\| .*`/.test(line) ? [line.split('|').slice(1, -1)] : []))
}
const codeIn = (text = ''): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)

test('the tables of facts and memory in the README name fields with the files that write them', () => {
  const rows = ['The facts', 'The memory'].flatMap(rowsOf)
  const said = rows.flatMap(([, fields, files]) =>
    codeIn(fields).map((field) => [field, codeIn(files).map((file) => `${file.replace('tracker/', '')}.ts`)]),
  )
  expect(said.length).toBeGreaterThan(45)
  expect(Object.fromEntries(said)).toEqual(Object.fromEntries(said.map(([field]) => [field, TABLE[String(field)]])))
})

test('what the README calls derived is a function of the file that it names', () => {
  const rows = rowsOf('What is derived').map((row) => codeIn(row.at(-1)))
  expect(rows.length).toBeGreaterThan(8)
  const missing = rows.filter(([name, file]) => {
    const text = readFileSync(join(CALLS, `${file}.ts`), 'utf8')
    return !text.includes(`export function ${name}(`) && !text.includes(`export const ${name} =`)
  })
  expect(missing).toEqual([])
})
