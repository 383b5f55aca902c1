import { expect, test } from 'bun:test'
import { emptyFolder, type RunningApp, startServe } from '../help/app.ts'
import { ask, newToken, webhook } from '../help/client.ts'
import { canFakeTime, wallClock } from '../help/faketime.ts'
import { allTaken, idsOf, judge, report, SERVE, startLoad, verified } from '../help/load.ts'
import { type Answer, startReceiver, startTaking, until } from '../help/receiver.ts'

const HOUR_S = 3_600
const DAY_S = 24 * HOUR_S
/** The clock is set to these differences from the true time in turn: hours and days, forward and back. */
const SET_TO_S = [5 * HOUR_S, -3 * HOUR_S, 3 * DAY_S, 2 * DAY_S, -10 * DAY_S, 0]
/** A refused delivery is due again after 500 ms ± 10 %, so never earlier than this. */
const EARLY_MS = 440

/** A receiver that accepts requests, but one of every `oneIn` only at the second attempt. */
function startPicky(oneIn: number) {
  const refusedMs = new Map<string, number>()
  const waitedMs: number[] = []
  const taken: string[] = []
  let count = 0
  const answer: Answer = ({ id, atMs }) => {
    const refused = refusedMs.get(id)
    if (refused === undefined && ++count % oneIn === 0) {
      refusedMs.set(id, atMs)
      return new Response('', { status: 404 })
    }
    if (refused !== undefined) waitedMs.push(atMs - refused)
    taken.push(id)
    return new Response('ok')
  }
  return { ...startReceiver(answer), taken, waitedMs }
}

/** Returns the log lines about a clock that was set: which way. */
const waysLogged = (app: RunningApp): string[] =>
  [...app.output().matchAll(/the clock was set (forward|back)/g)].map(([, way = '']) => way)

test.skipIf(!canFakeTime)(
  'a clock that is set forward and back by hours and days, under load, loses, delays and fails nothing (needs libfaketime)',
  async () => {
    using folder = emptyFolder()
    const clock = wallClock(folder.path)
    const picky = startPicky(7)
    const down = startTaking()
    down.answerWith(() => new Response('', { status: 503 }))
    // The clock of this process is not set: the PBX runs like the service's steady clock.
    const load = startLoad()
    const app = await startServe({ cwd: folder.path, args: [...SERVE, ...load.pbx], env: clock.env })
    try {
      const token = await newToken(app, 'clock@example.com')
      const body = [webhook(picky.url), webhook(down.url)]
      await ask(app, 'PUT', '/integration/webhook', { token, body })
      load.begin()
      const startedMs = performance.now()
      await until('a webhook is down', () => app.output().includes('webhook is down'))
      for (const [index, seconds] of SET_TO_S.entries()) {
        const { length } = picky.waitedMs
        await until('what was refused has come again', () => picky.waitedMs.length > length)
        clock.set(seconds)
        await until('it is logged', () => waysLogged(app).length === index + 1)
      }
      // Expired deliveries are swept every five seconds.
      await Bun.sleep(Math.max(0, 6_000 - (performance.now() - startedMs)))
      down.answerWith(down.take)
      await load.stop()
      const stored = await allTaken(
        folder.path,
        ...[picky, down].map(
          ({ taken }) =>
            () =>
              taken,
        ),
      )
      for (const [what, { taken, received }] of [
        ['refuses some', picky],
        ['is down', down],
      ] as const) {
        const verdict = judge(stored, taken, idsOf(received))
        report(`a clock that is set, and a receiver that ${what}`, verdict)
        expect(verdict).toMatchObject({ lost: 0, duplicated: 0, reordered: 0 })
      }
      expect(waysLogged(app)).toEqual(['forward', 'back', 'forward', 'back', 'back', 'forward'])
      expect(Math.min(...picky.waitedMs)).toBeGreaterThan(EARLY_MS)
      await until(
        'the store is whole',
        async () => (await verified(folder.path)) === 'The store is complete and consistent.',
      )
    } finally {
      await app.stop()
      clock.clear(app.pid)
      await Promise.all([load.stop(), picky.stop(), down.stop()])
    }
  },
)
