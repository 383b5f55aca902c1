import { afterAll, describe, expect, test } from 'bun:test'
import { createContactDirectory, type DirectorySettings } from '../../src/contacts/directory.ts'
import type { LookUpAnswer } from '../../src/contacts/look-up.ts'
import type { PhoneNumber } from '../../src/events/phone-number.ts'
import { SECOND } from '../../src/lib/time.ts'
import { until } from '../help/receiver.ts'

const contact = { id: '1', name: 'Maria', company: null, url: null, owner: '101' }
const FOUND: LookUpAnswer = { kind: 'found', contact }
const FOUND_ONE = { contact, state: 'found' } as const
const NOT_FOUND: LookUpAnswer = { kind: 'not found' }
const FAILED: LookUpAnswer = { kind: 'failed', reason: 'status 500' }
const phone = (number: string): PhoneNumber => ({ number, e164: null })
const ends: (() => void)[] = []
afterAll(() => {
  for (const end of ends) end()
})

/** A directory whose look-ups end when the test says so. */
function rig(settings: Partial<DirectorySettings> = {}) {
  const clock = { us: 0 }
  const asked: { number: string; answer: (answer: LookUpAnswer) => void }[] = []
  const said: string[] = []
  const note = (...line: readonly unknown[]) => void said.push(String(line.at(-1)))
  const directory = createContactDirectory({
    log: { debug: note, info: note, warn: note, error: note },
    steadyUs: () => clock.us,
  })
  const own = (digest: string): DirectorySettings => ({
    digest,
    budgetMs: 3_600_000,
    cacheMs: 600_000,
    lookUp({ number }) {
      const { promise, resolve } = Promise.withResolvers<LookUpAnswer>()
      asked.push({ number, answer: resolve })
      ends.push(() => resolve(NOT_FOUND))
      return promise
    },
    ...settings,
  })
  directory.configure(new Map([[1, own('one')]]))
  /** Looks up a number, with this answer. */
  async function lookUp(number: string, answer: LookUpAnswer) {
    const begun = directory.begin(1, phone(number))
    if (begun === null || !('contact' in begun)) return begun
    asked.at(-1)?.answer(answer)
    return await begun.contact
  }
  return { directory, asked, said, clock, own, lookUp }
}

test('a number is looked up once for all who need it, and not again while it is cached', async () => {
  const { directory, asked, clock } = rig()
  const both = [directory.find(1, phone('12345')), directory.find(1, { number: '0 12345', e164: '12345' })]
  asked[0]?.answer(FOUND)
  expect(await Promise.all(both)).toEqual([FOUND_ONE, FOUND_ONE])
  clock.us = 600 * SECOND - 1
  expect(directory.begin(1, phone('12345'))).toEqual(contact)
  expect(asked).toHaveLength(1)
  clock.us = 600 * SECOND
  expect(directory.begin(1, phone('12345'))).toHaveProperty('waitMs', 3_600_000)
  expect(asked).toHaveLength(2)
})

test('a number that is not found is asked for again after a minute', async () => {
  const { directory, asked, clock, lookUp } = rig()
  expect(await lookUp('12345', NOT_FOUND)).toBeNull()
  clock.us = 60 * SECOND - 1
  expect(directory.begin(1, phone('12345'))).toBeNull()
  clock.us = 60 * SECOND
  expect(await lookUp('12345', FOUND)).toEqual(contact)
  expect(asked).toHaveLength(2)
})

test('a look-up that fails is not remembered', async () => {
  const { lookUp } = rig()
  expect(await lookUp('12345', FAILED)).toBeNull()
  expect(await lookUp('12345', FOUND)).toEqual(contact)
})

test('each outcome is counted once, and so are open circuit breakers', async () => {
  const { directory, lookUp } = rig()
  await lookUp('1', FOUND)
  await lookUp('1', FOUND)
  await lookUp('2', NOT_FOUND)
  for (const number of ['3', '4', '5', '6', '7']) await lookUp(number, FAILED)
  expect(Object.fromEntries(directory.outcomes())).toEqual({ found: 1, cached: 1, not_found: 1, failed: 5 })
  expect(directory.openBreakers()).toBe(1)

  const late = rig({ budgetMs: 1 })
  const begun = late.directory.find(1, phone('1'))
  expect((await begun).contact).toBeNull()
  late.asked[0]?.answer(FOUND)
  await until('it is counted', () => late.directory.outcomes().get('late') === 1)
})

test('an account without settings looks up nothing', () => {
  const { directory } = rig()
  expect(directory.looksUp(1)).toBe(true)
  expect(directory.looksUp(2)).toBe(false)
  expect(directory.begin(2, phone('12345'))).toBeNull()
})

describe('the circuit breaker', () => {
  test('opens after five failures in a row: nothing waits, and now and then one look-up is made', async () => {
    const { directory, asked, clock, said, lookUp } = rig()
    for (let number = 1; number <= 4; number++) await lookUp(`1000${number}`, FAILED)
    await lookUp('10000', NOT_FOUND)
    for (let number = 1; number <= 5; number++) await lookUp(`2000${number}`, FAILED)
    expect(said.filter((one) => one.startsWith('contacts are not looked up for now'))).toHaveLength(1)
    expect(asked).toHaveLength(10)
    expect(directory.begin(1, phone('30000'))).toBeNull()
    expect(asked).toHaveLength(10)
    // A probe: the call does not wait for it, and there is one at a time.
    clock.us = SECOND
    const probe = directory.begin(1, phone('30001'))
    expect(probe).toHaveProperty('waitMs', 0)
    expect(directory.begin(1, phone('30002'))).toBeNull()
    asked.at(-1)?.answer(FAILED)
    await until('the probe is over', () => directory.begin(1, phone('30001')) === null)
    clock.us = 3 * SECOND - 1
    expect(directory.begin(1, phone('30003'))).toBeNull()
    clock.us = 3 * SECOND
    expect(await lookUp('30003', FOUND)).toEqual(contact)
    expect(said.at(-1)).toBe('contacts are looked up again')
    expect(directory.begin(1, phone('30004'))).toHaveProperty('waitMs', 3_600_000)
  })

  test('opens after five look-ups that are late; what comes late is known from then on', async () => {
    const { directory, asked, said } = rig({ budgetMs: 1 })
    for (let number = 1; number <= 5; number++)
      expect((await directory.find(1, phone(`1000${number}`))).state).toBe('late')
    await until('it is open', () => said.some((one) => one.startsWith('contacts are not looked up for now')))
    expect((await directory.find(1, phone('20000'))).state).toBe('failed')
    expect(asked).toHaveLength(5)
    asked[0]?.answer(FOUND)
    await until('it is known', () => {
      const begun = directory.begin(1, phone('10001'))
      return begun !== null && 'id' in begun
    })
  })

  test('answers from the cache while it is open', async () => {
    const { directory, lookUp } = rig()
    await lookUp('12345', FOUND)
    for (let number = 1; number <= 5; number++) await lookUp(`2000${number}`, FAILED)
    expect(directory.begin(1, phone('12345'))).toEqual(contact)
  })
})

test('a change of settings drops contacts of the earlier settings, and look-ups in flight', async () => {
  const { directory, asked, own, lookUp } = rig()
  await lookUp('12345', FOUND)
  directory.configure(new Map([[1, own('one')]]))
  expect(directory.begin(1, phone('12345'))).toEqual(contact)
  const late = directory.find(1, phone('67890'))
  directory.configure(new Map([[1, own('two')]]))
  asked[1]?.answer(FOUND)
  expect(await late).toEqual(FOUND_ONE)
  for (const number of ['12345', '67890']) expect(directory.begin(1, phone(number))).toHaveProperty('waitMs')
  directory.configure(new Map())
  expect(directory.looksUp(1)).toBe(false)
})

test('an erasure drops contacts, and what a look-up that began before finds; nobody joins it', async () => {
  const { directory, asked, lookUp } = rig()
  await lookUp('12345', FOUND)
  const before = directory.find(1, phone('67890'))
  directory.forget()
  const after = directory.find(1, phone('67890'))
  expect(asked.map(({ number }) => number)).toEqual(['12345', '67890', '67890'])
  asked[1]?.answer(FOUND)
  expect(await before).toEqual({ contact: null, state: 'unknown' })
  // It is neither cached, nor the end of the later look-up.
  const joined = directory.find(1, phone('67890'))
  expect(asked).toHaveLength(3)
  asked[2]?.answer(FOUND)
  expect([await after, await joined]).toEqual([FOUND_ONE, FOUND_ONE])
  expect(directory.begin(1, phone('12345'))).toHaveProperty('waitMs')
})

test('a look-up is found, unknown, late or failed', async () => {
  const { directory, asked } = rig()
  const stateOf = async (number: string, answer: LookUpAnswer) => {
    const found = directory.find(1, phone(number))
    asked.at(-1)?.answer(answer)
    return (await found).state
  }
  expect(await stateOf('10000', FOUND)).toBe('found')
  expect(await stateOf('10000', FAILED)).toBe('found')
  expect(await stateOf('20000', NOT_FOUND)).toBe('unknown')
  expect(await stateOf('30000', FAILED)).toBe('failed')
  expect((await directory.find(7, phone('10000'))).state).toBe('unknown')
  const impatient = rig({ budgetMs: 1 })
  expect((await impatient.directory.find(1, phone('40000'))).state).toBe('late')
})

test('at most 64 numbers of an account are looked up at a time', () => {
  const { directory, asked } = rig()
  for (let number = 0; number < 100; number++) directory.begin(1, phone(`10${number}00`))
  expect(asked).toHaveLength(64)
})
