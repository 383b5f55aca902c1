import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { Value } from '@sinclair/typebox/value'
import { BODIES } from '../../src/events/bodies.ts'
import { forSwitches } from '../../src/events/kinds.ts'
import { EXAMPLES } from '../../src/events/samples.ts'
import { SECOND } from '../../src/lib/time.ts'
import { makeRecordingEvent } from '../../src/recordings/recording-event.ts'
import { DEFAULT_OPTIONS } from '../../src/store/webhook-options.ts'
import { emptyFolder } from '../help/app.ts'
import { savedRecording } from '../help/recordings.ts'
import { batch, openStore } from '../help/store.ts'

const NOW = 1_795_213_000 * SECOND
const URL = 'https://crm.example/'

test('a saved recording is an event with its call, its link and the sequence of call_saved; only who asks for it gets it', async () => {
  using folder = emptyFolder()
  const store = openStore(join(folder.path, 'hookswitch.db'))
  const saved = EXAMPLES.map(({ data }) => data).find(({ name }) => name === 'call_saved')
  if (saved?.name !== 'call_saved') throw new Error('there is no example')
  const { call, stages, recordings } = saved
  const [{ id = '', path } = { path: null }] = recordings
  const row = savedRecording(id, { callId: call.id, path: path ?? '', sinceUs: NOW, sequence: 9 })
  const record = { id: call.id, savedUs: NOW, direction: call.direction, fromNumber: null, toNumber: null }
  await store.calls.batchStore(batch({ saved: [{ ...record, record: JSON.stringify({ call, stages, recordings }) }] }))
  const urlOf = ({ recordingId }: { recordingId: string }) => `https://calls.example/${recordingId}`
  const event = await makeRecordingEvent({ store, urlOf, nowUs: () => NOW }, row)
  if (event === undefined) throw new Error('there is no event')
  const body = JSON.parse(event.body)
  expect([...Value.Errors(BODIES.recording_saved, body)]).toEqual([])
  expect(body).toMatchObject({
    data: { name: 'recording_saved', sequence: 9, account: 'default', call: { id: call.id }, recording: { id, path } },
  })
  expect(body.data.recording.url).toBe(`https://calls.example/${id}`)
  expect(event.facts).toMatchObject({ direction: call.direction, pbx: 'office', result: call.result })

  const storeAgain = () => store.calls.batchStore(batch({ events: [event] }, { recordings: [row] }))
  const list = [{ url: URL, ...forSwitches(() => true) }]
  await store.webhooks.listReplace({ accountId: 1, list, ifMatch: null, nowUs: NOW, secrets: ['whsec_x'] })
  expect((await storeAgain()).map(({ webhookIds }) => webhookIds.length)).toEqual([0])
  const options = { ...DEFAULT_OPTIONS, events: ['recording_saved' as const] }
  await store.webhooks.optionsReplace({ accountId: 1, url: URL, options, nowUs: NOW })
  expect((await storeAgain()).map(({ webhookIds }) => webhookIds.length)).toEqual([1])
  const later = await makeRecordingEvent({ store, urlOf, nowUs: () => NOW - 60 * SECOND }, row)
  expect(later?.atUs, 'a clock that was set back').toBe(NOW)
  expect((later?.uuid ?? '') > event.uuid, 'the id sorts behind the last').toBe(true)
  expect(await makeRecordingEvent({ store, urlOf, nowUs: () => NOW }, { ...row, callId: 'erased' })).toBeUndefined()
  await store.stop()
})
