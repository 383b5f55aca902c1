import { expect, test } from 'bun:test'
import { createLiveTracker } from '../../../src/calls/ingest/live-tracker.ts'
import { newTracker } from '../../../src/calls/tracker/tracker.ts'
import { createLog } from '../../../src/lib/log.ts'
import { countingIds } from '../../help/play.ts'

const nowUs = (): number => Math.round((performance.timeOrigin + performance.now()) * 1_000)

/** A call from a trunk whose start waits for the called number, and then for a tick. */
function startWaiting(isBehind: () => boolean) {
  const emitted = Promise.withResolvers<string>()
  const tracker = createLiveTracker(newTracker('pbx', 'default', countingIds()), {
    pbx: 'pbx',
    onEvents: ([event]) => emitted.resolve(event?.name ?? ''),
    onFault: () => emitted.reject(new Error('a fault')),
    isBehind,
    log: createLog('silent'),
    nowUs,
    steadyUs: nowUs,
  })
  const atUs = nowUs()
  const endpoint = { kind: 'external', number: '15551230001', name: null } as const
  const begin = {
    kind: 'channel',
    id: 'a',
    linkedId: 'a',
    endpoint,
    dialledNumber: null,
    originated: false,
    shown: null,
  } as const
  tracker.apply([{ ...begin, atUs, arrivedUs: atUs }])
  return { emitted: emitted.promise, stop: tracker.stop }
}

test('a tick waits until what the PBX has sent is read', async () => {
  let asked = 0
  let isBehind = true
  const waiting = Promise.withResolvers<'asked again'>()
  const { emitted, stop } = startWaiting(() => {
    asked += 1
    if (asked === 5) waiting.resolve('asked again')
    return isBehind
  })
  expect(await Promise.race([waiting.promise, emitted])).toBe('asked again')
  isBehind = false
  expect(await emitted).toBe('call_started')
  await stop()
})

test('a tick does not wait for ever', async () => {
  const { emitted, stop } = startWaiting(() => true)
  expect(await emitted).toBe('call_started')
  await stop()
})
