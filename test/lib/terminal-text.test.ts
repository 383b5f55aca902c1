import { expect, test } from 'bun:test'
import { harmless, newPaint, printable, printableJson } from '../../src/lib/terminal-text.ts'

/** A hostile caller's name: a window title, hidden text, an overwritten line, a change of text direction. */
const NASTY = 'Eve\x1b]0;owned\x07\x1b[8mhidden\x1b[2K\r\u009b31m\x7f\u202egnp.exe'
// biome-ignore lint/suspicious/noControlCharactersInRegex: the test searches for these characters
const MOVES = /[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]/

test('what others have written moves no terminal, regardless of what contains it', () => {
  const paint = newPaint(true, {})
  expect(harmless(NASTY)).not.toMatch(MOVES)
  expect(printable(`a call from ${NASTY}`)).not.toMatch(MOVES)
  expect(printable(`${paint('red', 'wrong')}\ta\nb ${paint('dim', 'c')}`)).toBe(
    '\x1b[31mwrong\x1b[0m\ta\nb \x1b[2mc\x1b[0m',
  )
})

test('JSON for machines is the same value, and moves no terminal either', () => {
  const text = printableJson({ name: NASTY })
  expect(text).not.toMatch(MOVES)
  expect(JSON.parse(text)).toEqual({ name: NASTY })
})
