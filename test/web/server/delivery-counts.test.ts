import { expect, test } from 'bun:test'
import { newEmitter } from '../../../src/deliveries/run/emitter.ts'
import type { Observer } from '../../../src/deliveries/sending/observer.ts'
import type { Outcome } from '../../../src/outbound/outcome.ts'
import { createDeliveryCounts } from '../../../src/web/server/delivery-counts.ts'
import { createLastHour } from '../../../src/web/server/last-hour.ts'

test('a step that is skipped at the end of a flow leaves the last answer of the CRM beside its state', () => {
  const counts = createDeliveryCounts({ emitter: newEmitter(), lastHour: createLastHour(), nowUs: () => 0 })
  const end = (outcome: Outcome, state: string) =>
    counts.observer.ended({
      delivery: { webhookId: 1, accountId: 1 },
      attempted: { outcome, durationMs: 5, turn: {} },
      state,
      atUs: 0,
      waitedUs: 1,
    } as unknown as Parameters<Observer['ended']>[0])
  end({ kind: 'skipped', reason: 'skipped: its `if` is empty' }, 'delivered')
  expect(counts.last(1)).toBeNull()
  expect(counts.known()).toHaveLength(1)
  end({ kind: 'advanced', status: 201 }, 'pending')
  end({ kind: 'skipped', reason: 'skipped: its `if` is empty' }, 'delivered')
  expect(counts.last(1)).toMatchObject({ status: 201, error: null })
})
