import type { Stage } from '../../../src/events/bodies.ts'
import { isLater, type Rule, type Story, stageText } from './story.ts'

/** Rules about a call's stages, and about what never changes. */

const isParent = ({ kind }: Pick<Stage, 'kind'>): boolean => kind === 'group' || kind === 'queue'
const text = (value: unknown): string => JSON.stringify(value) ?? ''

/** Fields of a call that stay as they were once they are known. */
const STAYS = ['pbx_id', 'started_at', 'answered_at', 'answered_by', 'parent_id', 'did', 'merged_into'] as const

/** Returns whether a stage was answered while nobody saw it. */
const isAnsweredUnseen = ({ result, answered_at }: Stage): boolean => result === 'answered' && answered_at === null

export const STAGES: readonly Rule[] = [
  {
    name: 'the final list has every stage',
    sentence: '`stages` of call_ended: all of the call, in order of start; no stage twice',
    check({ ended, stages, isMerged }) {
      if (ended === undefined || ended.call.stages_omitted > 0) return []
      const ids = ended.stages.map(({ id }) => id)
      const missing = stages.filter(({ id }) => !ids.includes(id))
      const isSorted = ended.stages.every(
        ({ started_at: at }, index) => !isLater(ended.stages[index - 1]?.started_at ?? null, at),
      )
      return [
        ...(ended.call.merged_into === null ? missing.map(({ last }) => `${stageText(last)} is not in it`) : []),
        ...(new Set(ids).size < ids.length ? ['a stage is in it twice'] : []),
        ...(isSorted || isMerged ? [] : [`not in order of start: ${ended.stages.map(stageText).join(', ')}`]),
      ]
    },
  },
  {
    name: 'the final list has stages as they ended',
    sentence: 'a receiver that missed an event still ends up right: the list has what dial_ended had',
    check: ({ ended, stages }) =>
      (ended?.stages ?? []).flatMap((stage) => {
        const last = stages.find(({ id }) => id === stage.id)?.last
        if (last === undefined || last.result === null) return []
        return Object.entries(stage)
          .filter(([key, value]) => text(value) !== text(Object.entries(last).find(([one]) => one === key)?.[1]))
          .map(([key, value]) => `${stageText(stage)}: ${key} is ${text(value)} at the end of the call`)
      }),
  },
  {
    name: 'the saved call is the ended call',
    sentence:
      'call_saved has the stages and the call of call_ended; only recordings, `recorded` and variables are added',
    check({ ended, saved }) {
      if (ended === undefined || saved === undefined) return []
      const calls = Object.entries(saved.call).filter(
        ([key, value]) =>
          key !== 'recorded' &&
          key !== 'variables' &&
          text(value) !== text(Object.entries(ended.call).find(([one]) => one === key)?.[1]),
      )
      return [
        ...calls.map(([key, value]) => `${key} is ${text(value)} when it is saved`),
        ...(text(saved.stages) === text(ended.stages) ? [] : ['its stages differ']),
      ]
    },
  },
  {
    name: 'a parent exists',
    sentence: '`parent_id`: the group or queue it belongs to, a stage of the same call',
    check: ({ ended }) =>
      (ended?.call.merged_into === null && ended.call.stages_omitted === 0 ? ended.stages : []).flatMap((stage) => {
        if (stage.parent_id === null) return []
        const parent = ended?.stages.find(({ id }) => id === stage.parent_id)
        if (parent === undefined) return [`${stageText(stage)}: its parent is not in the list`]
        return isParent(parent) ? [] : [`${stageText(stage)}: its parent is ${stageText(parent)}`]
      }),
  },
  {
    name: 'a group or queue is answered by a member',
    sentence: 'its answer is that of the first member who answered; picked up by somebody else it is `answered` too',
    check({ ended, isPartial }) {
      if (ended === undefined || isPartial) return []
      return ended.stages.filter(isParent).flatMap((stage) => {
        const answers = ended.stages
          .filter(({ parent_id: parent }) => parent === stage.id)
          .flatMap(({ answered_at: at }) => (at === null ? [] : [at]))
        const first = answers.toSorted()[0]
        if (first === undefined || stage.answered_at === first) return []
        return [`${stageText(stage)}: answered at ${stage.answered_at}, its first member at ${first}`]
      })
    },
  },
  {
    name: 'attempts are counted',
    sentence: '`attempt`: 1, 2, … of the same target within the call',
    check({ ended, bodies, isMerged }) {
      if (ended === undefined || isMerged || ended.call.stages_omitted > 0) return []
      const counts = new Map<string, number>()
      const rings = new Map<string, number>()
      return bodies.flatMap(({ data }) => {
        if (!('stage' in data) || data.stage === null || isParent(data.stage) || data.name.startsWith('call_'))
          return []
        const { id, attempt } = data.stage
        if (rings.get(id) === attempt) return []
        rings.set(id, attempt)
        const count = (counts.get(stageText(data.stage)) ?? 0) + 1
        counts.set(stageText(data.stage), count)
        return attempt === count ? [] : [`${stageText(data.stage)}: attempt ${attempt} is the ${count}th`]
      })
    },
  },
  {
    name: 'the queue of a call',
    sentence: '`queue` is the last queue it was in; its wait is over when the call is',
    check({ ended, isMerged }) {
      if (ended === undefined || isMerged || ended.call.stages_omitted > 0) return []
      const last = ended.stages.findLast(({ kind }) => kind === 'queue')
      const { queue, duration } = ended.call
      if (last === undefined || queue === null)
        return last === undefined && queue === null
          ? []
          : [`${queue?.name ?? 'none'}, and its stage is ${last?.target}`]
      return [
        ...(queue.name === last.target || queue.name === last.name
          ? []
          : [`${queue.name}, and its stage is ${last.target}`]),
        ...(queue.wait_duration === null && last.started_at !== null && !isAnsweredUnseen(last)
          ? ['its wait is not over']
          : []),
        ...((queue.wait_duration ?? 0) > (duration ?? Number.POSITIVE_INFINITY)
          ? ['it waited longer than the call']
          : []),
      ]
    },
  },
  {
    name: 'what is known stays',
    sentence: 'ids, times and who answered never change once they are known; nor does `partial` go away, or `answered`',
    check({ bodies }) {
      return bodies.flatMap(({ data: { name, call } }, index) => {
        const before = bodies[index - 1]?.data.call
        if (before === undefined) return []
        const changed = STAYS.filter((key) => before[key] !== null && text(before[key]) !== text(call[key]))
        return [
          ...changed.map((key) => `${name}: ${key} was ${text(before[key])}, is ${text(call[key])}`),
          ...(before.partial && !call.partial ? [`${name}: no longer partial`] : []),
          ...(call.direction === 'inbound' && before.from.number !== null && before.from.number !== call.from.number
            ? [`${name}: from was ${before.from.number}, is ${call.from.number}`]
            : []),
          ...(before.state === 'answered' && call.state !== 'answered' && call.state !== 'ended'
            ? [`${name}: ${call.state} after answered`]
            : []),
        ]
      })
    },
  },
  {
    name: 'a stage stays what it is',
    sentence: 'a stage keeps its id, kind and target',
    check: ({ stages }) =>
      stages.flatMap(({ told, last }) => {
        const names = new Set(told.map(stageText))
        return names.size > 1 ? [`${stageText(last)} was ${[...names].join(', ')}`] : []
      }),
  },
  {
    name: 'a stage stays in its group',
    sentence: 'a group exists from its first dial: each event of a member has its `parent_id`',
    check: ({ stages, isMerged }) =>
      stages.flatMap(({ told, last }) =>
        !isMerged && told.some(({ parent_id: parent }) => parent !== last.parent_id)
          ? [
              `${stageText(last)} was in ${[...new Set(told.map(({ parent_id: parent }) => parent ?? 'none'))].join(', ')}`,
            ]
          : [],
      ),
  },
  {
    name: 'a number from outside',
    sentence: '`did`: the outside number that was called (inbound), else null',
    check: ({ bodies }) =>
      bodies.flatMap(({ data: { name, call } }) =>
        call.did !== null && call.direction !== 'inbound' ? [`${name}: ${call.direction}, with a did`] : [],
      ),
  },
  {
    name: 'no extension calls from outside',
    sentence: 'an inbound call is from outside; an internal call is between parties of the PBX',
    check: ({ bodies }) =>
      bodies.flatMap(({ data: { name, call } }) =>
        call.direction === 'inbound' && call.from.extension !== null
          ? [`${name}: inbound from ${call.from.extension}`]
          : [],
      ),
  },
  {
    name: 'the call is answered first',
    sentence: '`answered_at` is when the first person answered',
    check: firstAnswer,
  },
]

/** In click-to-call the agent's own phone is no answer, so that only inbound calls are checked. */
function firstAnswer({ ended, isMerged, isPartial }: Story): string[] {
  if (ended === undefined || isMerged || isPartial || ended.call.direction !== 'inbound') return []
  const answers = ended.stages
    .filter((stage) => !isParent(stage))
    .flatMap(({ answered_at: at }) => (at === null ? [] : [at]))
  const first = answers.toSorted()[0] ?? null
  const { answered_at: at } = ended.call
  return first === null || at === first ? [] : [`answered at ${at}, its first stage at ${first}`]
}
