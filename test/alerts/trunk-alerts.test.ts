import { expect, test } from 'bun:test'
import type { Alerts } from '../../src/alerts/alert-messages.ts'
import { startTrunkAlerts } from '../../src/alerts/trunk-alerts.ts'
import type { TrunkState } from '../../src/events/states.ts'
import { createLog } from '../../src/lib/log.ts'
import type { Present } from '../../src/states/board/subject.ts'
import type { PbxRecord } from '../../src/store/operations/pbxs.ts'
import { memoryOutages } from '../help/outages.ts'
import { until } from '../help/receiver.ts'

const MINUTE = 60_000_000
const trunk = (name: string, state: TrunkState, reason: string | null = null): Present => ({
  kind: 'trunk',
  state: { trunk: name, state, since: '2026-11-20T21:50:00.104118Z', reason },
})
/** A PBX as the store has it; the alerts read only its name. */
const record = (name: string) => ({ name, url: 'ami://…' }) as PbxRecord

/** Alerts of a PBX whose trunks a test sets, on a clock that a test sets. */
function watched(outages = memoryOutages()) {
  let present: ReadonlyMap<string, readonly Present[]> = new Map()
  let checks = 0
  let nowUs = 0
  const sent: string[] = []
  const alerts: Pick<Alerts, 'send'> = {
    send: ({ what, state, name, reason }) => void sent.push(`${what} ${state} ${name} ${reason ?? ''}`.trim()),
  }
  const store = {
    outages: { ...outages, outageList: (what: 'trunk') => outages.outageList(what) },
    pbxs: { pbxList: async () => [record('office')] },
  }
  const running = startTrunkAlerts({
    present() {
      checks += 1
      return present
    },
    afterMs: 60_000,
    alerts,
    store,
    log: createLog('silent'),
    steadyUs: () => nowUs,
    everyMs: 2,
  })
  return {
    sent,
    /** Sets the trunks and the time, and waits until they were looked at. */
    async at(us: number, ...trunks: Present[]) {
      nowUs = us
      present = new Map([['office', trunks]])
      const before = checks
      await until('it was looked at', () => checks >= before + 2)
    },
    async disconnected() {
      present = new Map()
      const before = checks
      await until('it was looked at', () => checks >= before + 2)
    },
    stop: running.stop,
  }
}

test('a trunk that is down for a minute is reported once, and once when it is up again', async () => {
  const one = watched()
  await one.at(0, trunk('carrier', 'rejected', 'Rejected'), trunk('backup', 'reachable'))
  await one.at(MINUTE - 1, trunk('carrier', 'unreachable'), trunk('backup', 'unknown'))
  expect(one.sent).toEqual([])
  await one.at(MINUTE, trunk('carrier', 'rejected', 'Rejected'))
  await one.at(5 * MINUTE, trunk('carrier', 'rejected', 'Rejected'))
  expect(one.sent).toEqual(['trunk down carrier (office) Rejected'])
  await one.at(6 * MINUTE, trunk('carrier', 'unknown'))
  await one.at(7 * MINUTE, trunk('carrier', 'registered'))
  expect(one.sent.slice(1)).toEqual(['trunk up carrier (office)'])
  await one.stop()
})

test('one that comes back in between gets the whole minute again', async () => {
  const one = watched()
  await one.at(0, trunk('carrier', 'rejected'))
  await one.at(MINUTE / 2, trunk('carrier', 'registered'))
  await one.at(MINUTE, trunk('carrier', 'rejected'))
  await one.at(2 * MINUTE - 1, trunk('carrier', 'rejected'))
  expect(one.sent).toEqual([])
  await one.stop()
})

test('the next process reports the end, and a PBX that is not connected says nothing', async () => {
  const outages = memoryOutages()
  const first = watched(outages)
  await first.at(0, trunk('carrier', 'rejected'))
  await first.at(MINUTE, trunk('carrier', 'rejected'))
  await first.stop()
  const next = watched(outages)
  await next.disconnected()
  expect(next.sent).toEqual([])
  await next.at(MINUTE, trunk('carrier', 'registered'))
  expect(next.sent).toEqual(['trunk up carrier (office)'])
  await next.stop()
})

test('a trunk that the PBX no longer has is gone', async () => {
  const one = watched()
  await one.at(0, trunk('carrier', 'rejected'))
  await one.at(MINUTE, trunk('carrier', 'rejected'))
  await one.at(MINUTE, trunk('other', 'registered'))
  expect(one.sent.slice(1)).toEqual(['trunk up carrier (office) it was removed'])
  await one.stop()
})
