import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { findCallsOfNumber } from '../../../src/calls/api/number-search.ts'
import type { Call } from '../../../src/events/bodies.ts'
import { emptyFolder } from '../../help/app.ts'
import { batch, openStore } from '../../help/store.ts'

const party = (number: string | null) => ({ number, name: null, extension: null, e164: null })
const spelled = (number: string) => ({ ...party(number), e164: number === '0301' ? '+49301' : null })
const live = (id: string, from: string | null, to: string | null) => ({
  call: { id, from: party(from), to: party(to) } as Call,
})
const saved = (id: string, savedUs: number, fromNumber: string, toNumber: string) => ({
  id,
  savedUs,
  direction: 'inbound' as const,
  fromNumber,
  toNumber,
  record: '{}',
})

test('the live calls of a number in E.164 are found however the PBX spells it', async () => {
  using folder = emptyFolder()
  const { calls, stop } = openStore(join(folder.path, 'hookswitch.db'))
  function* liveCalls() {
    for (const [id, from, to] of [
      ['from', '0301', '101'],
      ['to', '101', '0301'],
      ['neither', '0302', '101'],
    ] as const)
      yield { call: { id, from: spelled(from), to: spelled(to) } as Call }
  }
  expect(await findCallsOfNumber({ calls, liveCalls }, 1, '+49301')).toEqual(['from', 'to'])
  await stop()
})

test('the calls of a number are those that are up and then the newest saved ones, of one account', async () => {
  using folder = emptyFolder()
  const { accounts, calls, stop } = openStore(join(folder.path, 'hookswitch.db'))
  await accounts.userCreate({ account: 'other', type: 1, name: 'B', email: 'b@example.com', passwordHash: '', atUs: 1 })
  const records = [saved('old', 1, '+491', '+492'), saved('new', 2, '+493', '+491'), saved('else', 3, '+493', '+494')]
  await calls.batchStore(batch({ accountId: 1, saved: records }))
  await calls.batchStore(batch({ accountId: 2, saved: [saved('foreign', 4, '+491', '+492')] }))
  function* liveCalls(accountId: number) {
    if (accountId !== 1) return
    for (let index = 0; index < 300; index += 1) yield live(`quiet ${index}`, null, '+499')
    yield live('from', '+491', '+495')
    yield live('to', null, '+491')
  }
  expect(await findCallsOfNumber({ calls, liveCalls }, 1, '+491')).toEqual(['from', 'to', 'new', 'old'])
  expect(await findCallsOfNumber({ calls, liveCalls }, 2, '+491')).toEqual(['foreign'])
  expect(await findCallsOfNumber({ calls, liveCalls }, 1, '+49')).toEqual([])
  await stop()
})
