import type { Call, CallEvent, CallEventBody, Dialled, Party } from '../events/bodies.ts'
import type { EventFacts } from '../events/filter.ts'

type StageOf = Dialled & { readonly id: string; readonly parentId: string | null }

/** Returns the stages that an event is about: the given stage (for a group or queue, its members), or all stages. */
export function dialledBy(stages: readonly StageOf[], stageId: string | undefined): readonly StageOf[] {
  if (stageId === undefined) return stages
  const own = stages.find(({ id }) => id === stageId)
  if (own === undefined || own.kind === 'user' || own.kind === 'external') return own === undefined ? [] : [own]
  return stages.filter(({ parentId }) => parentId === stageId)
}

const numbersOf = (party: Party): string[] => [party.number, party.e164].filter((number) => number !== null)

/**
 * Returns the called number of an inbound call in all its forms. A record has the E.164 form at the called party only.
 */
function numbersOfDid({ did, to }: Call, didE164: string | null | undefined): string[] {
  const e164 = didE164 ?? (to.number === did ? to.e164 : null)
  return [...new Set([did, e164])].filter((number) => number !== null)
}

/** Returns the facts that webhooks' filters check. */
export function factsOf({ body, dialled = [], didE164 }: Pick<CallEvent, 'body' | 'dialled' | 'didE164'>): EventFacts {
  const { call, pbx } = body.data
  const isOfStage = body.data.name.startsWith('dial_')
  const targets = (kind: string) =>
    dialled.flatMap(({ kind: one, target, e164 }) => (one === kind ? [target ?? [], e164 ?? []].flat() : []))
  const people = isOfStage
    ? []
    : [call.from, call.to, ...(call.answered_by === null ? [] : [call.answered_by]), ...call.handled_by]
  const extensions = people.flatMap(({ extension }) => extension ?? [])
  return {
    direction: call.direction,
    pbx,
    queue: call.queue?.name ?? null,
    did: numbersOfDid(call, didE164),
    number: [...new Set([...numbersOf(call.from), ...numbersOf(call.to), ...targets('external')])],
    extension: [...new Set([...targets('user'), ...extensions])],
    result: call.result,
  }
}

/** Returns the facts of the last of these bodies: those of a call's events up to one, in their order. */
export function factsOfStored(bodies: readonly CallEventBody[]): EventFacts | undefined {
  const body = bodies.at(-1)
  if (body === undefined) return undefined
  const stages = new Map<string, StageOf>()
  for (const { data } of bodies) {
    const all = 'stages' in data ? data.stages : []
    const one = 'stage' in data && data.stage !== null ? [data.stage] : []
    for (const { id, parent_id, kind, target } of [...all, ...one])
      stages.set(id, { id, parentId: parent_id, kind, target })
  }
  const stageId = body.data.name.startsWith('dial_') && 'stage' in body.data ? body.data.stage?.id : undefined
  return factsOf({ body, dialled: dialledBy([...stages.values()], stageId) })
}
