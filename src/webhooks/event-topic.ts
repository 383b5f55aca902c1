import { type Topic, topicOf } from '../outbound/mqtt-url.ts'
import { type EventView, viewOf } from './options/event-view.ts'

/** Returns the topic of an event from its default body. */
export function topicOfEvent(topic: Topic, body: string): string {
  const [first] = topic
  // The same topic for all events needs no value.
  if (topic.length === 1 && typeof first === 'string') return first
  const { data } = viewOf(body)
  return topicOf(topic, {
    account: data.account,
    pbx: data.pbx ?? null,
    event: data.name,
    call_id: data.call?.id ?? null,
    extension: extensionOf(data),
  })
}

/** Returns the extension of the stage, else of the phone or agent, else of the call's owner. */
function extensionOf({ stage, by, phone, agent, call }: EventView['data']): string | null {
  if (stage) return stage.kind === 'user' || stage.kind === 'group' ? stage.target : null
  const one = by ?? phone ?? agent ?? call?.handled_by?.at(-1)
  return one?.extension ?? null
}
