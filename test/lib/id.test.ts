import { expect, test } from 'bun:test'
import { newUuid } from '../../src/lib/id.ts'

const AT_US = 1_795_213_000_123_456

test('an id sorts behind another one, even if its time does not', () => {
  let last = newUuid(AT_US)
  for (const atUs of [AT_US, AT_US - 3_600_000_000, AT_US + 500, AT_US - 1, AT_US + 2_000]) {
    const id = newUuid(atUs, last)
    expect(id > last).toBe(true)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    last = id
  }
})

test('an id has the time that it was made for', () => {
  expect(newUuid(AT_US).replace('-', '').slice(0, 12)).toBe(
    Math.floor(AT_US / 1_000)
      .toString(16)
      .padStart(12, '0'),
  )
})
