import type { CallEvent, CallEventBody, Stage } from '../../src/events/bodies.ts'

/**
 * Emitted events in full words, so that two versions of the tracker can be compared as text: a headline for each event,
 * and below it every value of its body that differs from the events before it. Ids are replaced by names that do not
 * depend on how many ids were made before.
 */

/** The names of calls, stages and recordings by id. */
type Names = ReadonlyMap<string, string>

/** Returns the lines of events, in the order in which they were emitted. */
export function wordsOf(events: readonly CallEvent[]): string[] {
  const names = namesOf(events)
  /** The last value of each fact. */
  const known = new Map<string, string>()
  return events.flatMap((event) => {
    const changed = factsOf(event, names).filter(([fact, value]) => known.get(fact) !== value)
    for (const [fact, value] of changed) known.set(fact, value)
    return [headlineOf(event, names), ...changed.map(([fact, value]) => `  ${fact}: ${value}`)]
  })
}

const stagesIn = ({ data }: CallEventBody): readonly Stage[] => {
  if ('stages' in data) return data.stages
  return 'stage' in data && data.stage !== null ? [data.stage] : []
}

function namesOf(events: readonly CallEvent[]): Names {
  const names = new Map<string, string>()
  const counts = new Map<string, number>()
  const give = (id: string, name: string): void => {
    if (names.has(id)) return
    const count = (counts.get(name) ?? 0) + 1
    counts.set(name, count)
    names.set(id, count === 1 ? name : `${name} (${count})`)
  }
  let calls = 0
  for (const { callId, body } of events) {
    if (!names.has(callId)) give(callId, `call ${++calls}`)
    for (const { id, kind, target, attempt } of stagesIn(body))
      give(id, `${names.get(callId)} ${kind} ${target} #${attempt}`)
    if ('recordings' in body.data) for (const { id } of body.data.recordings) give(id, `${names.get(callId)} recording`)
  }
  return names
}

function headlineOf({ callId, body: { data, time } }: CallEvent, names: Names): string {
  const about = 'stage' in data && data.stage !== null ? data.stage.id : callId
  return `${data.name} of ${names.get(about)}, sequence ${data.sequence}, at ${clockOf(time)}`
}

/** Returns the time of day with microseconds. */
const clockOf = (time: string): string => time.slice('2026-11-20T'.length, -1)

/** Returns what an event says, each value by the thing that it is about and its path. */
function factsOf({ callId, body, dialled, didE164 }: CallEvent, names: Names): [fact: string, value: string][] {
  const { name: _name, id: _id, sequence: _sequence, call, ...rest } = body.data
  const about = names.get(callId) ?? ''
  const others = Object.entries(rest).filter(([key]) => key !== 'stage' && key !== 'stages')
  const stageNames = 'stages' in rest ? rest.stages.map(({ id }) => names.get(id)) : undefined
  return [
    ...valuesOf(about, call, names),
    ...others.flatMap(([key, value]) => valuesOf(`${about} ${key}`, value, names)),
    ...valuesOf(`${about} for filters`, { dialled, didE164, stages: stageNames }, names),
    ...stagesIn(body).flatMap((stage) => valuesOf(names.get(stage.id) ?? '', stage, names)),
  ]
}

/** Returns the values of an object, those of objects in it by their whole path. */
function valuesOf(path: string, value: unknown, names: Names): [fact: string, value: string][] {
  if (value === undefined) return []
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return Object.entries(value).flatMap(([key, inner]) => valuesOf(`${path} ${key}`, inner, names))
  return [[path, JSON.stringify(value, (_, one: unknown) => (typeof one === 'string' ? wordOf(one, names) : one))]]
}

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/
/** An id as a player of recordings counts them. */
const COUNTED_ID = /^\d+-\d{6}/

function wordOf(text: string, names: Names): string {
  if (TIME.test(text)) return clockOf(text)
  return names.get(text) ?? (COUNTED_ID.test(text) ? 'one without events' : text)
}
