import { describe, expect, test } from 'bun:test'
import { explain } from '../../../src/pbx/tools/explain.ts'
import { differences } from '../../help/expected-compare.ts'
import { customersOf, type Kind, recordingOfAll } from '../../help/tenant-recordings.ts'

// Real PBXs' attended and blind transfers, consultations, queues, groups, parking and the rest, for 50 customers at
// once.

describe.each<[Kind, 'accountcode' | 'domain']>([
  ['asterisk', 'accountcode'],
  ['freeswitch', 'domain'],
])('%s, by %s', (kind, by) => {
  const customers = customersOf(kind, 50)
  const options = { pbx: 'shared', trunks: [], extensions: [], variables: [], tenants: { by, variable: null } }
  const { explained, withoutTenant, open } = explain([recordingOfAll(kind, customers)], options)
  const bodies = Map.groupBy(
    explained.map(({ event }) => event.body),
    ({ data }) => data.account,
  )

  test('every call is of a customer, and comes to its end', () => {
    expect([withoutTenant, open]).toEqual([0, 0])
    expect([...bodies.keys()].toSorted()).toEqual(customers.map(({ name }) => name).toSorted())
  })

  test.each(customers.map(({ name, fixtures }) => [name, fixtures.join(', ')]))(
    '%s gets the events of its own calls: %s',
    (name) => {
      const customer = customers.find((one) => one.name === name)
      const wrong = differences(bodies.get(name) ?? [], customer?.expected ?? '', { facts: 'none' })
      expect(wrong.join('\n')).toBe('')
    },
  )
})
