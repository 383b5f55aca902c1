import { expect, test } from 'bun:test'
import { createCommands } from '../../../src/pbx/esl/commands.ts'
import { EslDecoder } from '../../../src/pbx/esl/decoder.ts'
import { requestQueues } from '../../../src/pbx/esl/queue-request.ts'
import { createEslTranslator } from '../../../src/pbx/esl/translator/translator.ts'
import { lineOf } from '../../help/expected.ts'
import { player } from '../../help/play.ts'

// Queues whose agent is found talking with the caller: the list shows that the two were bridged, and no queue.

const NOW_US = 1_795_213_000_000_000
const [CALLER, AGENT] = ['00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002']
const up = { callstate: 'ACTIVE', created_epoch: '1795212990', cid_num: '1001', initial_cid_num: '1001' }
const IN_QUEUE = {
  ...up,
  uuid: CALLER,
  direction: 'inbound',
  name: 'sofia/internal/1001@pbx.example',
  dest: '3000',
  initial_dest: '3000',
  presence_id: '1001@pbx.example',
  call_uuid: CALLER,
}
const SERVING = {
  ...up,
  uuid: AGENT,
  direction: 'outbound',
  name: 'sofia/internal/1004@127.30.1.104:5060',
  dest: '1004',
  initial_dest: '1004',
  presence_id: '1004@pbx.example',
  call_uuid: CALLER,
}
const BRIDGED = [
  { ...IN_QUEUE, application: 'uuid_bridge', application_data: AGENT },
  { ...SERVING, application: 'uuid_bridge', application_data: CALLER },
]

const response = (body: string) => `Content-Type: api/response\nContent-Length: ${body.length}\n\n${body}`
const listOf = (rows: readonly object[]) =>
  new EslDecoder().push(Buffer.from(response(JSON.stringify({ row_count: rows.length, rows }))))

/** Returns what is asked of a FreeSWITCH that knows this queue of the agent's leg, and the events of what it lists. */
async function found(rows: readonly object[], queue: string, pairs: readonly object[] = []) {
  const asked: string[] = []
  const decoder = new EslDecoder()
  const commands = createCommands({
    write(text) {
      asked.push(text.trim())
      queueMicrotask(() => {
        for (const frame of decoder.push(Buffer.from(response(queue)))) commands.receive(frame)
      })
    },
    replyMs: 60_000,
    lost() {},
  })
  const [channels] = listOf(rows)
  const frames = [channels, ...listOf(pairs), await requestQueues(commands, channels)].flatMap((frame) => frame ?? [])
  const { play, rest, events } = player()
  play([{ kind: 'connected', first: true, boot: null, atUs: NOW_US, arrivedUs: NOW_US }])
  play(createEslTranslator({ trunks: [], extensions: [], variables: [] }).snapshot(frames, NOW_US))
  rest(1_000_000)
  const queueId = events.flatMap(({ body: { data } }) => ('stage' in data ? (data.stage?.parent_id ?? []) : []))
  return { asked, lines: events.map(({ body }) => lineOf(body)), call: events.at(-1)?.body.data.call, queueId }
}

const PAIR = [{ ...IN_QUEUE, b_uuid: AGENT }]

test('the agent’s leg is asked for its queue, whose stage the agent is', async () => {
  const { asked, lines, call, queueId } = await found(BRIDGED, 'support@default', PAIR)
  expect(asked).toEqual([`api uuid_getvar ${AGENT} cc_queue`])
  expect(lines.map((line) => line.replace(/ \|.*/, ''))).toEqual([
    'call_started internal 1001 3000',
    'dial_started user 1004',
    'dial_answered user 1004',
  ])
  expect(call?.queue).toMatchObject({ name: 'support@default' })
  expect(new Set(queueId).size).toBe(1)
})

test('legs that a command bridged are in no queue', async () => {
  const { call, queueId } = await found(BRIDGED, '_undef_', PAIR)
  expect([call?.queue, queueId]).toEqual([null, []])
})

test('nothing is asked of legs that the dialplan bridged', async () => {
  const bridge = { application: 'bridge', application_data: 'user/1004' }
  const { asked, call } = await found([{ ...IN_QUEUE, ...bridge }, SERVING], 'support@default', PAIR)
  expect([asked, call?.queue]).toEqual([[], null])
})

test('a caller in mod_fifo is in its queue while served, in mod_callcenter until the bridge', async () => {
  for (const [application, data, queue] of [
    ['fifo', 'ring@pbx.example in', 'ring@pbx.example'],
    ['callcenter', 'support@default', 'support@default'],
  ]) {
    const rows = [{ ...IN_QUEUE, application, application_data: data }, SERVING]
    expect((await found(rows, '_undef_', PAIR)).call?.queue).toMatchObject({ name: queue })
  }
})
