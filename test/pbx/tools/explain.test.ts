import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readRecording, recordingOf } from '../../../src/pbx/recorded/recording.ts'
import { explain } from '../../../src/pbx/tools/explain.ts'
import { CONTINUES } from '../../help/continues.ts'
import { differences } from '../../help/expected-compare.ts'
import { unknown } from '../../help/known-differences.ts'
import { FIXTURES, readExpectedFile } from '../../help/recording.ts'

const OPTIONS = { pbx: 'pbx', trunks: [], extensions: [], variables: [] }
const names = ['asterisk', 'freeswitch'].flatMap((folder) =>
  readdirSync(join(FIXTURES, folder))
    .filter((file) => file.endsWith('.expected'))
    .map((file) => `${folder}/${file.replace('.expected', '')}`),
)
const pathOf = (name: string) => join(FIXTURES, `${name}.${name.startsWith('asterisk') ? 'ami' : 'esl'}`)
/** The files of a recording: its own, and the recording of its second connection, if it has one. */
function pathsOf(name: string): string[] {
  const [folder = '', file = ''] = name.split('/')
  const second = CONTINUES[file]
  return [name, ...(second === undefined ? [] : [`${folder}/${second}`])].map(pathOf)
}

/**
 * The state of a room's first party is known to depend on ticks. Over two connections an explanation keeps the names of
 * phones that the players of the other tests forget.
 */
const WORDS_ALONE: readonly string[] = ['freeswitch/page-by-conference', 'freeswitch/gap-consultation-begins']

describe('a recording is explained', () => {
  test.each(names)('%s', (name) => {
    const paths = pathsOf(name)
    const { explained, files, open } = explain(paths.map(readRecording), OPTIONS)
    const bodies = explained.map(({ event }) => event.body)
    // Explanations tick at other moments than the players of the other tests.
    const facts = WORDS_ALONE.includes(name) ? 'none' : 'untimed'
    expect(unknown(name, differences(bodies, readExpectedFile(name), { facts })).join('\n')).toBe('')
    expect(open).toBe(0)
    expect(files.map(({ fault }) => fault)).toEqual(paths.map(() => undefined))

    const texts = paths.map((path) => readFileSync(path, 'latin1'))
    for (const { atMs, cause } of explained) {
      const text = texts[cause.file] ?? ''
      expect(text.slice(cause.offset, cause.offset + 400)).toMatch(/^\r?\n?(Event|Response|Content-\w+): /)
      expect(text.slice(0, cause.offset).split('\n').length).toBe(cause.line)
      expect(cause.atMs).toBeLessThanOrEqual(atMs)
    }
  })

  test('a call that ended while nobody listened ends with the list of the second connection', () => {
    const { explained } = explain(pathsOf('freeswitch/reconnect-1').map(readRecording), OPTIONS)
    const ended = explained.find(({ event }) => event.name === 'call_ended')
    expect(ended?.cause).toMatchObject({ file: 1, name: 'api/response' })
    expect(ended?.event.body.data.call).toMatchObject({ partial: true, hangup: { cause: 'unknown' } })
  })

  test('with a restart of the PBX in between, which ends its calls', () => {
    const first = readRecording(pathOf('freeswitch/reconnect-1'))
    const text = readFileSync(pathOf('freeswitch/reconnect-2'), 'latin1')
    const second = text.replaceAll('501b98a2-de76-440b-a390-7d2f7fdd0505', '601b98a2-de76-440b-a390-7d2f7fdd0505')
    const { explained } = explain([first, recordingOf('freeswitch', Buffer.from(second, 'latin1'), '')], OPTIONS)
    const causes = explained.map(({ event }) => event.body.data.call.hangup?.cause)
    expect(causes).toContain('pbx_restart')
  })

  test('all at once if it has no timing', () => {
    const bytes = readFileSync(pathOf('asterisk/a-inbound-answered'))
    const { explained } = explain([recordingOf('asterisk', bytes, '')], OPTIONS)
    expect(explained.map(({ event }) => event.name)).toContain('call_saved')
  })

  test.each([
    ['blind-caller-gives-up', 'dial_ended', '102', 'the caller gave up while it rang'],
    ['h-ring-group', 'dial_ended', '101', '102 answered the same caller while it rang'],
    [
      'h-ring-group',
      'dial_ended',
      '15550100103',
      'its members: 101 answered_elsewhere, 102 answered, 103 answered_elsewhere',
    ],
    [
      'z-localn-attended',
      'call_ended',
      null,
      'the caller hung up first; 102 owns it: it was the last to join the last conversation',
    ],
    ['z-localn-attended', 'call_started', null, 'internal: 101 asks 102 while another call waits'],
    ['t-short-caller', 'call_started', null, 'inbound: 116117 came in by a trunk'],
    ['f-outbound-answered', 'call_started', null, 'outbound: 15557654321 was dialled through a trunk for 101'],
    ['f-outbound-answered', 'call_ended', null, 'the caller hung up first; 101 owns it: it called'],
    ['d-inbound-busy', 'dial_ended', '101', 'the dial ended as busy, the channel ended with cause 17'],
  ])('with reasons: %s: %s of %s', (name, event, target, why) => {
    const { explained } = explain([readRecording(pathOf(`asterisk/${name}`))], OPTIONS)
    const matching = explained.filter((one) => {
      const { data } = one.event.body
      return one.event.name === event && (target === null || ('stage' in data && data.stage?.target === target))
    })
    expect(matching.map(({ reason }) => reason)).toContain(why)
  })

  test('even if it is cut off: the calls that are up are counted', () => {
    const bytes = readFileSync(pathOf('asterisk/a-inbound-answered')).subarray(0, 20_000)
    expect(explain([recordingOf('asterisk', bytes, '')], OPTIONS).open).toBe(1)
  })
})
