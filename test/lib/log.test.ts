import { describe, expect, test } from 'bun:test'
import { createLog } from '../../src/lib/log.ts'

function logged(options: Parameters<typeof createLog>[1], fact: object, message: string): string {
  let written = ''
  createLog('info', {
    ...options,
    write: (line) => {
      written += line
    },
  }).info(fact, message)
  return written
}

describe('the log', () => {
  test('is one JSON line a fact', () => {
    const line = logged({ readable: false }, { call: 'c-1', from: '15551230001' }, 'emitted')
    expect(line.endsWith('\n')).toBe(true)
    expect(JSON.parse(line)).toMatchObject({ level: 'info', msg: 'emitted', call: 'c-1', from: '15551230001' })
  })

  test('holds nothing that would move the terminal of its reader, and is the same JSON', () => {
    const reason = 'refused\x1b[2J\u009b31m\x7f\u202e'
    const line = logged({ readable: false }, { reason }, 'not connected')
    expect(line).toMatch(/^[ -~]*\n$/)
    expect(JSON.parse(line)).toMatchObject({ reason })
  })

  test.each([
    ['debug', 7],
    ['info', 6],
    ['warn', 4],
    ['error', 3],
  ] as const)('has for the journal the priority of its level: %s', (level, priority) => {
    let written = ''
    const write = (line: string) => {
      written += line
    }
    createLog('debug', { readable: false, priorities: true, write })[level]({ pbx: 'office' }, 'emitted')
    expect(written).toStartWith(`<${priority}>{"level":"${level}",`)
    expect(JSON.parse(written.replace(/^<\d>/, ''))).toMatchObject({ level, pbx: 'office', msg: 'emitted' })
  })

  test('is a readable line on a terminal, without what would move its cursor', () => {
    const line = logged({ readable: true }, { pbx: 'office', reason: 'refused by "it"\x1b[2J' }, 'not connected')
    expect(line).toMatch(/^\d\d:\d\d:\d\d\.\d{3} info {2}not connected pbx=office reason="refused by \\"it\\"/)
    expect(line).not.toContain('\x1b')
  })

  test('shows where an error came from', () => {
    const line = logged({ readable: true }, { err: new Error('disk full') }, 'cannot write')
    expect(line).toMatch(/cannot write\n {4}Error: disk full\n {4}at /)
  })

  test('hides numbers on request, and ids never', () => {
    const id = '01900000-0000-7000-8000-123456789012'
    const fact = { call: id, from: '15551230001', to: '101', err: new Error('params: 15551230001,2') }
    const line = logged({ readable: false, maskNumbers: true }, fact, 'emitted')
    expect(line).not.toContain('15551230001')
    expect(JSON.parse(line)).toMatchObject({ call: id, from: '*********01', to: '101' })
  })
})

test.each([
  ['15551230001', '*********01'],
  ['+4930123456', '*********56'],
  ['101', '101'],
  ['', ''],
])('%p is masked as %p', (from, masked) => {
  const line = logged({ readable: false, maskNumbers: true }, { from }, 'emitted')
  expect(JSON.parse(line)).toMatchObject({ from: masked })
})

test('the text of an error is masked where it may hold a number', () => {
  const err = new Error('from +15551230001 to 102')
  const line = logged({ readable: false, maskNumbers: true }, { err }, 'failed')
  expect(JSON.parse(line)).toMatchObject({ err: { message: 'from **********01 to 102' } })
})
