import type { SentBody } from '../events/bodies.ts'
import { readSentBody } from '../events/stored-json.ts'
import { type Topic, topicOf } from '../outbound/mqtt-url.ts'

/** Returns the topic of an event from its default body. */
export function topicOfEvent(topic: Topic, body: string): string {
  const [first] = topic
  // The same topic for all events needs no value.
  if (topic.length === 1 && typeof first === 'string') return first
  // Bodies of the later version of another node may lack anything.
  const { data } = readSentBody(body)
  return topicOf(topic, {
    account: data.account ?? '',
    pbx: 'pbx' in data ? data.pbx : null,
    event: data.name,
    call_id: 'call' in data ? (data.call?.id ?? null) : null,
    extension: extensionOf(data),
    queue: queueOf(data),
    trunk: 'trunk' in data ? data.trunk.trunk : null,
  })
}

/** Returns the queue of the event, else the last one of the call. */
function queueOf(data: SentBody['data']): string | null {
  if ('queue' in data) return data.queue.queue
  if ('agent' in data) return data.agent.queue
  return 'call' in data ? (data.call?.queue?.name ?? null) : null
}

/** Returns the extension of the stage, else of the phone or agent, else of the call's owner. */
function extensionOf(data: SentBody['data']): string | null {
  if ('stage' in data && data.stage !== null) {
    const { kind, target } = data.stage
    return kind === 'user' || kind === 'group' ? target : null
  }
  if ('by' in data && data.by !== null) return data.by.extension
  if ('phone' in data) return data.phone.extension
  if ('agent' in data) return data.agent.extension
  return 'call' in data ? (data.call?.handled_by?.at(-1)?.extension ?? null) : null
}
