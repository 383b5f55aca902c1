import type { Stage } from '../../../src/events/bodies.ts'
import { type Body, isLater, microseconds, type Rule, type Story, secondsBetween, stageText } from './story.ts'

/** Rules about times and durations. */

const stagesIn = ({ data }: Body): readonly Stage[] => {
  if ('stages' in data) return data.stages
  return 'stage' in data && data.stage !== null ? [data.stage] : []
}

/** Checks each event of a call. */
const each =
  (check: (body: Body, story: Story) => readonly (string | false)[]) =>
  (story: Story): string[] =>
    story.bodies.flatMap((body) =>
      check(body, story).flatMap((wrong) => (wrong === false ? [] : [`${body.data.name}: ${wrong}`])),
    )

/** Checks each stage that an event shows. */
const eachStage = (check: (stage: Stage, body: Body, story: Story) => readonly (string | false)[]) =>
  each((body, story) =>
    stagesIn(body).flatMap((stage) =>
      check(stage, body, story).map((wrong) => wrong !== false && `${stageText(stage)}: ${wrong}`),
    ),
  )

const differs = (what: string, got: unknown, wanted: unknown): string | false =>
  got !== wanted && `${what} is ${got}, not ${wanted}`

export const TIMES: readonly Rule[] = [
  {
    name: 'durations of a call',
    sentence:
      'duration, wait_duration, talk_duration: start to end; start to answer (unanswered: to end); answer to end',
    check: each(({ data: { call } }) => {
      // Of an answer that was not seen the wait is unknown.
      const isUnseen = call.result === 'answered' && (call.merged_into === null || call.answered_by !== null)
      const isOver = call.answered_at !== null || (call.result !== null && !isUnseen)
      const waited = isOver ? secondsBetween(call.started_at, call.answered_at ?? call.ended_at) : null
      return [
        differs('duration', call.duration, secondsBetween(call.started_at, call.ended_at)),
        differs('wait_duration', call.wait_duration, waited),
        differs('talk_duration', call.talk_duration, secondsBetween(call.answered_at, call.ended_at)),
      ]
    }),
  },
  {
    name: 'durations of a stage',
    sentence:
      'talk_duration from the answer; ring_duration from the first ringing of that attempt, which is not before it was dialled',
    check: eachStage((stage) => {
      const dialled = secondsBetween(stage.started_at, stage.answered_at ?? stage.ended_at)
      return [
        differs('talk_duration', stage.talk_duration, secondsBetween(stage.answered_at, stage.ended_at)),
        stage.ring_duration !== null &&
          dialled !== null &&
          stage.ring_duration > dialled &&
          `it rang ${stage.ring_duration} s, and was dialled ${dialled} s before`,
      ]
    }),
  },
  {
    name: 'started, answered, ended',
    sentence: 'a call or stage starts before it is answered, and is answered before it ends',
    check: each((body) =>
      [body.data.call, ...stagesIn(body)].flatMap((one) => {
        const what = 'kind' in one ? `${stageText(one)}: ` : ''
        return [
          isLater(one.started_at, one.answered_at) && `${what}answered before it started`,
          isLater(one.answered_at, one.ended_at) && `${what}ended before it was answered`,
          isLater(one.started_at, one.ended_at) && `${what}ended before it started`,
        ]
      }),
    ),
  },
  {
    name: 'stages are within their call',
    sentence: 'each stage starts with its call or later, and ends with it or before',
    check: eachStage((stage, { data: { call } }, { isMerged }) => [
      !isMerged && isLater(call.started_at, stage.started_at) && 'started before its call',
      isLater(stage.ended_at, call.ended_at) && 'ended after its call',
    ]),
  },
  {
    name: 'members are within their group or queue',
    sentence: 'group and queue stages end after their members, and exist from the first dial',
    check: each(({ data }) => {
      if (data.name !== 'call_ended') return []
      const byId = new Map(data.stages.map((stage) => [stage.id, stage]))
      return data.stages.flatMap((stage) => {
        const parent = byId.get(stage.parent_id ?? '')
        if (parent === undefined) return []
        const what = `${stageText(stage)} in ${stageText(parent)}`
        return [
          isLater(parent.started_at, stage.started_at) && `${what}: started before it`,
          isLater(stage.ended_at, parent.ended_at) && `${what}: ended after it`,
        ]
      })
    }),
  },
  {
    name: 'an event is at its time',
    sentence: '`time` is when the event happened; within a call it never decreases',
    check({ bodies }) {
      let before = ''
      return bodies.flatMap(({ time, data }) => {
        const happened = happenedAt(data)
        const wanted = happened === null || happened < before ? before : happened
        const wrong = happened !== null && time !== wanted
        before = time
        return wrong ? [`${data.name} at ${time}, and it happened at ${happened}`] : []
      })
    },
  },
  {
    name: 'saved after its end',
    sentence: 'call_saved comes 1 second after call_ended, at most 3 seconds',
    check({ bodies }) {
      const [ended, saved] = ['call_ended', 'call_saved'].map(
        (name) => bodies.find(({ data }) => data.name === name)?.time ?? null,
      )
      const afterUs = (microseconds(saved ?? null) ?? Number.NaN) - (microseconds(ended ?? null) ?? Number.NaN)
      return afterUs < 1_000_000 || afterUs > 3_500_000 ? [`call_saved ${afterUs / 1_000_000} s after call_ended`] : []
    },
  },
  {
    name: 'recordings have their length',
    sentence: 'a recording lasts no longer than from its start to its end, but for what a PBX counts by its samples',
    check: ({ saved }) =>
      (saved?.recordings ?? []).flatMap(({ started_at: from, ended_at: to, duration, path, format }) => {
        const seconds = secondsBetween(from, to)
        return [
          ...(isLater(from, to) ? [`${path}: ended before it started`] : []),
          ...(duration !== null && seconds !== null && duration > seconds + 1
            ? [`${path}: ${duration} s of ${seconds}`]
            : []),
          ...(path !== null && format !== null && !path.endsWith(`.${format}`)
            ? [`${path}: of the format ${format}`]
            : []),
        ]
      }),
  },
]

/** When the event of a body happened, as its fields have it; `null` where they do not say it. */
function happenedAt(data: Body['data']): string | null {
  switch (data.name) {
    case 'call_started':
      return data.call.started_at
    case 'dial_answered':
      return data.stage.answered_at
    case 'dial_ended':
      return data.stage.ended_at
    case 'call_ended':
      return data.call.ended_at
    default:
      return null
  }
}
