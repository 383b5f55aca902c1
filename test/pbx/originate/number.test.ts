import { describe, expect, test } from 'bun:test'
import { mayBeCalled, nameToShow, numberToDial } from '../../../src/pbx/originate/number.ts'

const TO_MANY = 'must be digits, * and #, 32 at most, with + only in front'

describe('the number to dial', () => {
  const accepted: readonly [given: string, dialled: string][] = [
    ['101', '101'],
    ['+49 (30) 123-45.67/8', '+493012345678'],
    ['[0049] 30', '004930'],
    ['*97', '*97'],
    ['#1*2', '#1*2'],
    [`+${'1'.repeat(32)}`, `+${'1'.repeat(32)}`],
  ]
  test.each(accepted)('%j is dialled as %j', (given, value) => {
    expect(numberToDial(given)).toEqual({ value })
  })

  const refused: readonly [given: string, problem: string][] = [
    ['', 'must be a number'],
    [' -() ', 'must be a number'],
    ['+', 'must be a number'],
    ['1'.repeat(33), TO_MANY],
    ['1+2', TO_MANY],
    ['++49', TO_MANY],
    ['49\u00a030', TO_MANY],
    ['49\t30', TO_MANY],
    ['49\n', TO_MANY],
    ['１２３', TO_MANY],
    ['sip:101@host', TO_MANY],
    ['101,1', TO_MANY],
    ['101&102', TO_MANY],
    ['${EXTEN}', TO_MANY],
  ]
  test.each(refused)('%j is refused', (given, problem) => {
    expect(numberToDial(given)).toEqual({ problem })
  })
})

describe('the name to show', () => {
  test('loses the characters that mean something to a PBX, and keeps letters of any script', () => {
    expect(nameToShow('Zoë "Z" <Müller>, ${X} [東京] \'a\' ^|&; \\ end')).toEqual({
      value: 'Zoë Z Müller X 東京 a end',
    })
  })
  test('may have 80 characters, counted as people count them', () => {
    expect(nameToShow('😀'.repeat(80))).toEqual({ value: '😀'.repeat(80) })
    expect(nameToShow('😀'.repeat(81))).toEqual({ problem: 'may have 80 characters at most' })
  })
  test.each(['a\nb', 'a\r', 'a\0', 'a\u2028', 'a\u202eb', '\ud800'])('%j is refused', (given) => {
    expect(nameToShow(given)).toHaveProperty('problem')
  })
})

test('only numbers that match a pattern may be called; without patterns any may', () => {
  expect(mayBeCalled('0900123', [])).toBe(true)
  expect(['+4930', '101', '1010', '0900123'].map((number) => mayBeCalled(number, ['+49*', '1??']))).toEqual([
    true,
    true,
    false,
    false,
  ])
})
