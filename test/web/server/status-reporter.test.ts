import { expect, test } from 'bun:test'
import type { Ownership } from '../../../src/cluster/ownership.ts'
import { createLog } from '../../../src/lib/log.ts'
import { LeaseLost } from '../../../src/store/operations/cluster.ts'
import type { StatusStore } from '../../../src/store/operations/statuses.ts'
import { startStatusReporter, type WebhookReport } from '../../../src/web/server/status-reporter.ts'
import { until } from '../../help/receiver.ts'

type Sent = Parameters<StatusStore['webhookStatusSet']>[0]

/** A reporter whose node has the terms that a test gives, and what it sends; `first` is known at its start. */
function start(terms: Record<string, string>, first: { fails?: boolean; all?: WebhookReport[] } = {}) {
  const sent: Sent[] = []
  const listeners: Parameters<Ownership['onChange']>[0][] = []
  const state = {
    fails: first.fails ?? false,
    failed: 0,
    asked: 0,
    all: first.all ?? [],
    changed: [] as WebhookReport[],
  }
  const reporter = startStatusReporter({
    statuses: {
      async webhookStatusSet(one) {
        if (state.fails) {
          state.failed += 1
          throw new Error('no database')
        }
        sent.push(one)
      },
    },
    ownership: {
      fenceOf(lease) {
        const term = terms[lease]
        if (term === undefined) throw new LeaseLost(lease)
        return { leaseNames: [lease], terms: [term] }
      },
      onChange(listener) {
        listeners.push(listener)
        return () => void listeners.splice(0)
      },
    },
    webhooks(which) {
      state.asked += 1
      return which === 'all' ? state.all : state.changed.splice(0)
    },
    log: createLog('silent'),
    everyMs: 1,
  })
  /** Resolves when everything was compared once more. */
  const compared = async () => {
    const asked = state.asked
    await until('it has asked twice more', () => state.asked >= asked + 2)
  }
  return { sent, state, compared, changeOwner: () => listeners.map((listener) => listener()), reporter, listeners }
}

const webhook = (webhookId: number, status: string, accountId = 1) => ({ webhookId, accountId, status })

test('a status is reported once, again when it or its term changes, and only by its owner', async () => {
  const terms: Record<string, string> = { 'account:1': 'one' }
  const at = start(terms)
  at.state.changed.push(webhook(1, 'up'), webhook(2, 'up', 2))
  await at.compared()
  expect(at.sent).toEqual([[{ webhookId: 1, term: 'one', status: 'up' }]])
  at.state.changed.push(webhook(1, 'up'))
  await at.compared()
  expect(at.sent.length).toBe(1)
  at.state.changed.push(webhook(1, 'down'))
  await at.compared()
  expect(at.sent.slice(1)).toEqual([[{ webhookId: 1, term: 'one', status: 'down' }]])
  at.state.all = [webhook(1, 'down')]
  terms['account:1'] = 'two'
  at.changeOwner()
  await at.compared()
  expect(at.sent.slice(2)).toEqual([[{ webhookId: 1, term: 'two', status: 'down' }]])
  await at.reporter.stop()
  expect(at.listeners).toEqual([])
})

test('what could not be reported is reported later, and a thousand webhooks at a time', async () => {
  const all = Array.from({ length: 2_500 }, (_, n) => webhook(n, 'up'))
  const at = start({ 'account:1': 'one' }, { fails: true, all })
  await until('it has failed several times', () => at.state.failed >= 3)
  expect(at.sent).toEqual([])
  at.state.fails = false
  await until('all are reported', () => at.sent.flat().length >= 2_500)
  expect(Math.max(...at.sent.map((webhooks) => webhooks.length))).toBe(1_000)
  await at.compared()
  expect(new Set(at.sent.flat().map(({ webhookId }) => webhookId)).size).toBe(2_500)
  expect(at.sent.flat().length).toBe(2_500)
  await at.reporter.stop()
})
