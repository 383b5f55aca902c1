import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { explain } from '../../src/pbx/explain.ts'
import { readRecording, recordingOf } from '../../src/pbx/replay/recording.ts'
import { compare } from '../help/expected.ts'
import { FIXTURES, readExpectedFile } from '../help/recording.ts'

const OPTIONS = { pbx: 'pbx', trunks: [], extensions: [], variables: [] }
/** What such a recording's file gives is told with that of a second connection. */
const GO_ON = /reconnect|restart/

const names = ['asterisk', 'freeswitch'].flatMap((folder) =>
  readdirSync(join(FIXTURES, folder))
    .filter((file) => file.endsWith('.expected') && !GO_ON.test(file))
    .map((file) => `${folder}/${file.replace('.expected', '')}`),
)
const pathOf = (name: string) => join(FIXTURES, `${name}.${name.startsWith('asterisk') ? 'ami' : 'esl'}`)

describe('a recording is explained', () => {
  test.each(names)('%s', (name) => {
    const path = pathOf(name)
    const { explained, open, fault } = explain(readRecording(path), OPTIONS)
    const { got, expected } = compare(
      explained.map(({ event }) => event.body),
      readExpectedFile(name),
    )
    expect(got).toBe(expected)
    expect({ open, fault }).toEqual({ open: 0, fault: undefined })

    const text = readFileSync(path, 'latin1')
    for (const { atMs, cause } of explained) {
      expect(text.slice(cause.offset, cause.offset + 400)).toMatch(/^\r?\n?(Event|Content-\w+): /)
      expect(text.slice(0, cause.offset).split('\n').length).toBe(cause.line)
      expect(cause.atMs).toBeLessThanOrEqual(atMs)
    }
  })

  test('that has no timing, all at once', () => {
    const bytes = readFileSync(pathOf('asterisk/a-inbound-answered'))
    const { explained } = explain(recordingOf('ami', bytes, ''), OPTIONS)
    expect(explained.map(({ event }) => event.name)).toContain('call_saved')
  })

  test('that is cut off: the calls that are up are counted', () => {
    const bytes = readFileSync(pathOf('asterisk/a-inbound-answered')).subarray(0, 20_000)
    expect(explain(recordingOf('ami', bytes, ''), OPTIONS).open).toBe(1)
  })
})
