import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { EslDecoder, type EslFrame } from '../../../src/pbx/esl/decoder.ts'

const FIXTURES = join(import.meta.dir, '../../fixtures/freeswitch')
const recording = (name: string): Buffer => readFileSync(join(FIXTURES, `${name}.esl`))

function decode(input: string | Uint8Array, chunkBytes = Number.POSITIVE_INFINITY): EslFrame[] {
  const decoder = new EslDecoder()
  const bytes = Buffer.from(input)
  const frames: EslFrame[] = []
  for (let at = 0; at < bytes.length; at += chunkBytes)
    frames.push(...decoder.push(bytes.subarray(at, at + chunkBytes)))
  expect(decoder.fault).toBeUndefined()
  return frames
}

const KEYS = ['Unique-ID', 'Event-Sequence', 'Hangup-Cause', 'Caller-Caller-ID-Name', 'variable_transfer_history']
const plain = (frames: readonly EslFrame[]) =>
  frames.map(({ offset, contentType, event }) => [
    offset,
    contentType,
    event?.name,
    event?.subclass,
    ...KEYS.map((key) => event?.all(key)),
  ])
const eventFrame = (type: string, body: string | Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`Content-Length: ${Buffer.byteLength(body)}\nContent-Type: text/event-${type}\n\n`),
    Buffer.from(body),
  ])

describe('EslDecoder', () => {
  test.each(['no-such-extension', 'bad-auth', 'reconnect-2'])('%s, cut at every byte', (name) => {
    const bytes = recording(name).subarray(0, 40_000)
    const whole = plain(decode(bytes))
    expect(whole.length).toBeGreaterThan(1)
    expect(plain(decode(bytes, 1))).toEqual(whole)
    for (let cut = 1; cut < bytes.length; cut++) {
      const decoder = new EslDecoder()
      const frames = [...decoder.push(bytes.subarray(0, cut)), ...decoder.push(bytes.subarray(cut))]
      if (frames.length !== whole.length || frames.at(-1)?.offset !== whole.at(-1)?.[0])
        expect(`cut at ${cut}`).toBe('the same frames')
    }
  })

  test('JSON of every kind of character, a byte at a time', () => {
    const bytes = recording('inbound-utf8-json')
    expect(plain(decode(bytes, 1))).toEqual(plain(decode(bytes)))
  })

  test('every recorded event is read, and each frame begins at its offset', () => {
    for (const file of readdirSync(FIXTURES).filter((name) => name.endsWith('.esl'))) {
      const bytes = readFileSync(join(FIXTURES, file))
      for (const frame of decode(bytes, 65_536)) {
        expect(bytes.toString('latin1', frame.offset, frame.offset + 8)).toBe('Content-')
        if (frame.contentType.startsWith('text/event')) expect(frame.event?.name).toMatch(/^[A-Z_]+$/)
        else expect(frame.event).toBeUndefined()
      }
    }
  })

  test('plain and JSON of the same thing read the same', () => {
    const history = ['1:a:bl_xfer:1001/default/XML', '2:b:bl_xfer:1002/default/XML']
    const fields = {
      'Event-Name': 'CUSTOM',
      'Event-Subclass': 'sofia::transferee',
      name: 'Иван + 100% "x"',
      list: history,
      one: 'x',
    }
    const escaped = (value: string) => encodeURIComponent(value)
    const text = `Event-Name: CUSTOM\nEvent-Subclass: sofia%3A%3Atransferee\nname: ${escaped(fields.name)}\nlist: ${escaped(`ARRAY::${history.join('|:')}`)}\none: x\n\n`
    for (const frame of [eventFrame('json', JSON.stringify(fields)), eventFrame('plain', text)]) {
      const event = decode(frame, 5)[0]?.event
      expect([event?.name, event?.subclass, event?.get('name')]).toEqual(['CUSTOM', 'sofia::transferee', fields.name])
      expect([event?.all('list'), event?.get('list'), event?.all('one')]).toEqual([history, history[0], ['x']])
      expect([event?.has('none'), event?.get('none'), event?.all('none'), event?.has('one')]).toEqual([
        false,
        '',
        [],
        true,
      ])
    }
  })

  test.each([
    ['a+b', 'a+b'],
    ['100%', '100%'],
    ['%zz%41', '%zzA'],
    ['%d0%98', 'И'],
    ['%ff%41', '\ufffdA'],
    ['Zo\u00eb%', 'Zo\u00eb%'],
  ])('a plain value %s is %s', (raw, value) => {
    expect(decode(eventFrame('plain', `Event-Name: X\nkey: ${raw}\n\n`))[0]?.event?.get('key')).toBe(value)
  })

  test('a key that is there twice: the last one counts, in both', () => {
    expect(decode(eventFrame('plain', 'Event-Name: X\nk: 1\nk: 2\n\n'))[0]?.event?.get('k')).toBe('2')
    expect(decode(eventFrame('json', '{"Event-Name":"X","k":"1","k":"2"}'))[0]?.event?.get('k')).toBe('2')
  })

  test('an event with a body of its own', () => {
    const inner = 'Event-Name: BACKGROUND_JOB\nJob-UUID: 7\nContent-Length: 5\n\n+OK\nx'
    expect(decode(eventFrame('plain', inner))[0]?.event?.body).toBe('+OK\nx')
    expect(decode(eventFrame('json', '{"Event-Name":"BACKGROUND_JOB","_body":"+OK\\nx"}'))[0]?.event?.body).toBe(
      '+OK\nx',
    )
  })

  test('Content-Length counts bytes, and the next frame begins right after', () => {
    const frames = decode(
      Buffer.concat([eventFrame('json', '{"Event-Name":"A","n":"東京"}'), eventFrame('json', '{"Event-Name":"B"}')]),
      3,
    )
    expect(frames.map((frame) => frame.event?.name)).toEqual(['A', 'B'])
  })

  test('an event that is not JSON, or not UTF-8, costs itself alone', () => {
    const invalid = Buffer.from('{"Event-Name":"B","n":"\xff"}', 'latin1')
    const frames = decode(
      Buffer.concat([eventFrame('json', '{"Event-Name":'), eventFrame('json', '[1]'), eventFrame('json', invalid)]),
    )
    expect(frames.map((frame) => frame.event?.name)).toEqual([undefined, undefined, 'B'])
    expect(frames[2]?.event?.get('n')).toBe('\ufffd')
  })

  test('replies: headers without case, CRLF, blank lines before a frame', () => {
    const frames = decode(
      'Content-Type: auth/request\r\n\r\n\n\nContent-Type: command/reply\nReply-Text: +OK accepted\n\n',
      2,
    )
    expect(frames.map((frame) => [frame.contentType, frame.get('reply-text')])).toEqual([
      ['auth/request', ''],
      ['command/reply', '+OK accepted'],
    ])
  })

  test.each([
    ['a header block of 10 MB', 'A: b\n'.repeat(2_000_000)],
    ['a body of 17 MB', 'Content-Length: 17825792\n\n'],
    ['a negative length', 'Content-Length: -1\n\n'],
    ['a length that is no number', 'Content-Length: ten\n\n'],
  ])('%s ends the stream', (_, input) => {
    const decoder = new EslDecoder()
    const bytes = Buffer.from(input)
    for (let at = 0; at < bytes.length; at += 65_536) decoder.push(bytes.subarray(at, at + 65_536))
    expect(decoder.fault).toBeString()
    expect(decoder.push(Buffer.from('Content-Type: auth/request\n\n'))).toEqual([])
  })

  test('a body of 10 MB in small pieces is read, and quickly', () => {
    const body = JSON.stringify({ 'Event-Name': 'X', _body: 'x'.repeat(10_000_000) })
    expect(decode(eventFrame('json', body), 1_000)[0]?.event?.body.length).toBe(10_000_000)
  })

  const decodeAll = (bytes: Buffer) => {
    const decoder = new EslDecoder()
    const frames: EslFrame[] = []
    for (let at = 0; at < bytes.length; at += 65_536) frames.push(...decoder.push(bytes.subarray(at, at + 65_536)))
    expect(decoder.fault).toBeUndefined()
    return { decoder, frames }
  }
  const AFTER = eventFrame('json', '{"Event-Name":"AFTER"}')

  test.each([
    ['100 KB', 100_000],
    ['10 MB', 10_000_000],
  ])('a header of %s is left out and counted; its frame and the stream go on', (_, length) => {
    const reply = `Content-Type: command/reply\nLong: ${'x'.repeat(length)}\nReply-Text: +OK\n\n`
    const { decoder, frames } = decodeAll(Buffer.concat([Buffer.from(reply), AFTER]))
    expect(decoder.longLines).toBe(1)
    expect(frames[0]?.get('reply-text')).toBe('+OK')
    expect(frames[0]?.get('long')).toBe('')
    expect(frames[1]?.event?.name).toBe('AFTER')
    expect(frames[1]?.offset).toBe(reply.length)
  })

  test.each([
    ['100 KB', 100_000],
    ['5 MB', 5_000_000],
  ])('a variable of %s is left out and counted; the other facts of its event are read', (_, length) => {
    const text = 'x"\\\n'.repeat(length / 4)
    const own = text.slice(0, 100_000)
    const facts = { 'Event-Name': 'X', list: ['a', 'b]"'], variable_long: text, 'Unique-ID': 'u1', _body: own }
    const plain = `Event-Name: X\nlist: ARRAY::a|:b]%22\nvariable_long: ${'y'.repeat(length)}\nUnique-ID: u1\n\n${own}`
    for (const frame of [eventFrame('json', JSON.stringify(facts)), eventFrame('plain', plain)]) {
      const { decoder, frames } = decodeAll(Buffer.concat([frame, AFTER]))
      expect(decoder.longLines).toBe(1)
      const [event, after] = frames.map((one) => one.event)
      expect([event?.name, event?.get('Unique-ID'), event?.has('variable_long')]).toEqual(['X', 'u1', false])
      expect(event?.all('list')).toEqual(['a', 'b]"'])
      expect(event?.body === own).toBe(true)
      expect(after?.name).toBe('AFTER')
    }
  })

  test('of an event with megabytes of keys the first are kept, and one line is counted', () => {
    const keys = Array.from({ length: 600_000 }, (_, at) => [`variable_${at}`, 'value'] as const)
    const json = JSON.stringify({ 'Event-Name': 'X', 'Unique-ID': 'u1', ...Object.fromEntries(keys) })
    const plain = `Event-Name: X\nUnique-ID: u1\n${keys.map(([key, value]) => `${key}: ${value}\n`).join('')}\n`
    for (const frame of [eventFrame('json', json), eventFrame('plain', plain)]) {
      expect(frame.length).toBeGreaterThan(10_000_000)
      const { decoder, frames } = decodeAll(Buffer.concat([frame, AFTER]))
      expect(decoder.longLines).toBe(1)
      expect([frames[0]?.event?.get('Unique-ID'), frames[0]?.event?.get('variable_9')]).toEqual(['u1', 'value'])
      expect(frames[0]?.event?.has('variable_599999')).toBe(false)
      expect(frames[0]?.body.length).toBeLessThanOrEqual(1_100_000)
      expect(frames[1]?.event?.name).toBe('AFTER')
    }
  })
})

test.each(['json', 'plain'] as const)('a %s event is read again after what was read of it was dropped', (format) => {
  const facts = { 'Event-Name': 'CUSTOM', 'Event-Subclass': 'x::y', 'Unique-ID': 'u1', list: 'ARRAY::a|:b' }
  const plain = `${Object.entries(facts)
    .map(([key, value]) => `${key}: ${value}\n`)
    .join('')}\nown`
  const frames = decode(eventFrame(format, format === 'json' ? JSON.stringify({ ...facts, _body: 'own' }) : plain))
  const read = () => {
    const event = frames[0]?.event
    return [event?.name, event?.subclass, event?.get('Unique-ID'), event?.get('none'), event?.has('none'), event?.body]
  }
  const before = frames[0]?.event
  const first = read()
  expect(first).toEqual(['CUSTOM', 'x::y', 'u1', '', false, 'own'])
  expect(before?.all('list')).toEqual(['a', 'b'])
  frames[0]?.forget?.()
  expect(read()).toEqual(first)
  expect(frames[0]?.event).not.toBe(before)
})

test('the reply to a command may be longer than an event: a list of thousands of legs', () => {
  const size = 20_000_000
  const [reply] = decode(`Content-Type: api/response\nContent-Length: ${size}\n\n${'x'.repeat(size)}`)
  expect(reply?.body).toHaveLength(size)
  const decoder = new EslDecoder()
  decoder.push(Buffer.from(`Content-Type: text/event-json\nContent-Length: ${size}\n\n`))
  expect(decoder.fault).toMatch(/Content-Length is not a number up to/)
})
