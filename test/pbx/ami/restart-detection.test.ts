import { expect, test } from 'bun:test'
import { runOf } from '../../../src/pbx/ami/restart-detection.ts'

// Which run of Asterisk is it? Only another one is a restart, and ends every call that is not listed.

const SECOND = 1_000_000
const exact = { id: '2026-11-20 09:00:00', startedUs: 100 * SECOND }
const rough = { id: 'about 100000000', startedUs: 100 * SECOND }
const start = { at: '2026-11-20 09:00:00' }
const other = { at: '2026-11-21 10:00:00' }

test.each([
  ['the first time', null, { start, startedUs: null }, start.at],
  ['the first time, late', null, { start: 'late', startedUs: 100 * SECOND }, null],
  ['the first time, to a user who may not ask', null, { start: 'denied', startedUs: 100 * SECOND }, 'about 100000000'],
  ['nothing is known', exact, { start: 'denied', startedUs: null }, null],
  ['the same start', exact, { start, startedUs: null }, exact.id],
  ['another start', exact, { start: other, startedUs: null }, other.at],
  ['another start and another uptime', exact, { start: other, startedUs: 900 * SECOND }, other.at],
  ['the hour of summer', exact, { start: { at: '2026-11-20 10:00:00' }, startedUs: 101 * SECOND }, exact.id],
  ['late, the uptime goes on', exact, { start: 'late', startedUs: 101 * SECOND }, exact.id],
  ['late, and no uptime', exact, { start: 'late', startedUs: null }, null],
  ['late, and no uptime before', { ...exact, startedUs: null }, { start: 'late', startedUs: 7 }, null],
  ['late, another uptime', exact, { start: 'late', startedUs: 900 * SECOND }, 'about 900000000'],
  ['denied, the uptime goes on', rough, { start: 'denied', startedUs: 98 * SECOND }, rough.id],
  ['denied, another uptime', rough, { start: 'denied', startedUs: 104 * SECOND }, 'about 104000000'],
  ['allowed since, the uptime goes on', rough, { start, startedUs: 100 * SECOND }, rough.id],
] as const)('%s', (_, last, facts, id) => {
  expect(runOf(last, facts)?.id ?? null).toBe(id)
})
