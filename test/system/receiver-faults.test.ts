import { expect, test } from 'bun:test'
import { emptyFolder, type RunningApp, startServe } from '../help/app.ts'
import { ask, newToken, webhook } from '../help/client.ts'
import { allTaken, idsOf, judge, report, SERVE, startLoad, verified } from '../help/load.ts'
import { type Answer, startTaking, type Taking, until } from '../help/receiver.ts'
import { startResetting } from '../help/resetting.ts'

const REFUSALS: readonly Answer[] = [
  () => new Response('', { status: 500 }),
  () => new Response('', { status: 429, headers: { 'retry-after': '1' } }),
  () => new Response('', { status: 404 }),
  () => Response.redirect('http://127.0.0.1:1/'),
]

/** Enough requests to see their outcomes. */
const ENOUGH = 8

const takesAgain = async ({ taken }: Pick<Taking, 'taken'>): Promise<void> => {
  const { length } = taken
  await until('it takes what comes', () => taken.length >= length + ENOUGH)
}

async function refuse(receiver: Taking): Promise<void> {
  const refused = () => receiver.received.length - receiver.taken.length
  for (const refusal of REFUSALS) {
    const before = refused()
    receiver.answerWith(refusal)
    await until('some are refused', () => refused() >= before + ENOUGH)
    receiver.answerWith(receiver.take)
    await takesAgain(receiver)
  }
}

/** Never answers, until it was given up. */
async function hang({ url, answerWith, take }: Taking, app: RunningApp): Promise<void> {
  answerWith(() => new Promise<Response>(() => {}))
  await until('it is down', () => isDown(app, url))
  answerWith(take)
}

const isDown = (app: RunningApp, url: string): boolean =>
  app
    .output()
    .split('\n')
    .some((line) => line.includes('webhook is down') && line.includes(url))

type Resetting = Awaited<ReturnType<typeof startResetting>>

async function reset({ reset: end, resets }: Resetting, behind: Taking): Promise<void> {
  for (const how of ['request', 'answer', 'request', 'answer'] as const) {
    const before = resets()
    end(how)
    await until('connections are reset', () => resets() >= before + ENOUGH)
    end('never')
    await takesAgain(behind)
  }
}

test('receivers that refuse, hang or reset, and come back, get all', async () => {
  using folder = emptyFolder()
  const [refusing, hanging, behind] = [startTaking(), startTaking(), startTaking()]
  const resetting = await startResetting(behind.port)
  const load = startLoad()
  const app = await startServe({ cwd: folder.path, args: [...SERVE, ...load.pbx] })
  try {
    const token = await newToken(app, 'bad@example.com')
    const body = [refusing, hanging, resetting].map(({ url }) => webhook(url))
    await ask(app, 'PUT', '/integration/webhook', { token, body })
    load.begin()
    await until('all is well', () => [refusing, hanging, behind].every(({ taken }) => taken.length > 50))
    await Promise.all([refuse(refusing), hang(hanging, app), reset(resetting, behind)])
    await load.stop()
    const stored = await allTaken(
      folder.path,
      ...[refusing, hanging, behind].map(
        ({ taken }) =>
          () =>
            taken,
      ),
    )
    const verdicts = {
      refuses: judge(stored, refusing.taken, idsOf(refusing.received)),
      hangs: judge(stored, hanging.taken, idsOf(hanging.received)),
      resets: judge(stored, behind.taken, resetting.tried),
    }
    for (const [how, verdict] of Object.entries(verdicts)) report(`a receiver that ${how}`, verdict)
    expect(verdicts).toMatchObject({
      refuses: { lost: 0, reordered: 0, duplicated: 0 },
      hangs: { lost: 0, reordered: 0, duplicated: 0 },
      // A receiver that resets within its answer has accepted requests that come again.
      resets: { lost: 0, reordered: 0 },
    })
    expect(await verified(folder.path)).toBe('The store is complete and consistent.')
  } finally {
    await app.stop()
    await load.stop()
    resetting.stop()
    await Promise.all([refusing, hanging, behind].map((receiver) => receiver.stop()))
  }
})
