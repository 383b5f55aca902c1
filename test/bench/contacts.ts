import { buildOnce } from '../help/app.ts'
import { ask } from '../help/client.ts'
import { benchLatency, type LatencyOptions } from './pbx-to-receiver.ts'
import { atMost, figure, type Row } from './table.ts'

const CALLS_PER_SECOND = 50
/** The first seconds do not count: within them the circuit breaker opens. */
const SECONDS = 8
const ROUNDS = 5
const LOOK_UP_MS = 50
const BUDGET_MS = 300

type SetUp = NonNullable<LatencyOptions['setUp']>

/** Looks up the caller of each call at a URL; every call has another caller. */
const looksUpAt =
  (url: string): SetUp =>
  async ({ url: app, token }) => {
    const body = {
      url: `${url}/find?n={{ number }}`,
      fields: { name: '/name' },
      spellings: ['digits'],
      budget_ms: BUDGET_MS,
    }
    const put = await ask({ url: app() }, 'PUT', '/integration/contacts', { token, body })
    if (put.status !== 200) throw new Error(JSON.stringify(put.body))
  }

/** Latency from the PBX's bytes to the receiver: without contacts, with a CRM that takes 50 ms, and with a dead CRM. */
export async function benchContacts(): Promise<Row[]> {
  await buildOnce()
  const crm = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch() {
      await Bun.sleep(LOOK_UP_MS)
      return Response.json({ name: 'Maria' })
    },
  })
  // It takes every connection and never answers.
  const dead = Bun.listen({ port: 0, hostname: '127.0.0.1', socket: { data() {} } })
  const p99Of = async (setUp?: SetUp) => (await benchLatency(CALLS_PER_SECOND, SECONDS, { setUp })).p99Ms
  const found: { without: number; slow: number; dead: number }[] = []
  for (let round = 0; round < ROUNDS; round++)
    found.push({
      without: await p99Of(),
      slow: await p99Of(looksUpAt(`http://127.0.0.1:${crm.port}`)),
      dead: await p99Of(looksUpAt(`http://127.0.0.1:${dead.port}`)),
    })
  await crm.stop(true)
  dead.stop(true)
  // The best round of each: what else the machine does makes a round worse, never better.
  const best = (name: keyof (typeof found)[number]) => Math.min(...found.map((one) => one[name]))
  const [without, slow, ofDead] = [best('without'), best('slow'), best('dead')]
  const detail = (ms: number) => `${ms.toFixed(1)} ms, without ${without.toFixed(1)} ms, the best of ${ROUNDS}`
  return [
    figure(`p99 with a look-up of ${LOOK_UP_MS} ms ÷ without`, slow / without, '', detail(slow)),
    atMost('p99 with a dead CRM ÷ without, after the breaker opened', 1.1, ofDead / without, '', detail(ofDead)),
  ]
}
