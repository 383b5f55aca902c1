import type { CallEvent, Stage } from '../../../src/events/bodies.ts'

/** Everything that was emitted about one call, for rules that hold for every list of events. */
export type Body = CallEvent['body']

type StageStory = {
  readonly id: string
  /** The stage as each of its events had it, in their order. */
  readonly told: readonly Stage[]
  readonly last: Stage
}

export type Story = {
  readonly id: string
  /** The events of the call in the order of `sequence`. */
  readonly bodies: readonly Body[]
  readonly ended: Extract<Body['data'], { name: 'call_ended' }> | undefined
  readonly saved: Extract<Body['data'], { name: 'call_saved' }> | undefined
  /** The stages with events of this call. */
  readonly stages: readonly StageStory[]
  /** It was merged, or a call was merged into it: its stages and times are of several. */
  readonly isMerged: boolean
  readonly isPartial: boolean
}

/** All calls by their ids. */
export type Stories = ReadonlyMap<string, Story>

/** A promise about every call. `check` returns what breaks it, empty if nothing does. */
export type Rule = {
  readonly name: string
  /** The sentence of the guide. */
  readonly sentence: string
  readonly check: (story: Story, all: Stories) => readonly string[]
}

/** Returns the calls of bodies, which may be of several calls, in their order. */
export function storiesOf(bodies: readonly Body[]): Stories {
  const calls = Map.groupBy(bodies, ({ data }) => data.call.id)
  return new Map([...calls].map(([id, own]) => [id, storyOf(id, own)]))
}

function storyOf(id: string, own: readonly Body[]): Story {
  const bodies = own.toSorted((a, b) => a.data.sequence - b.data.sequence)
  const datas = bodies.map(({ data }) => data)
  const told = Map.groupBy(
    datas.flatMap((data) => ('stage' in data && data.stage !== null ? [data.stage] : [])),
    (stage) => stage.id,
  )
  const last = datas.at(-1)?.call
  return {
    id,
    bodies,
    ended: datas.find((data) => data.name === 'call_ended'),
    saved: datas.find((data) => data.name === 'call_saved'),
    stages: [...told].flatMap(([stageId, stages]) => {
      const final = stages.at(-1)
      return final === undefined ? [] : [{ id: stageId, told: stages, last: final }]
    }),
    isMerged: last !== undefined && (last.merged_from.length > 0 || last.merged_into !== null),
    isPartial: last?.partial === true,
  }
}

/** Names a stage for a message. */
export const stageText = ({ kind, target }: Pick<Stage, 'kind' | 'target'>): string => `${kind} ${target ?? '-'}`

/** Returns the microseconds of a time, `null` for none. */
export const microseconds = (time: string | null): number | null =>
  time === null ? null : Date.parse(`${time.slice(0, 19)}Z`) * 1_000 + Number(time.slice(20, 26).padEnd(6, '0'))

/** Returns the whole seconds between two times, rounded down; `null` if one is unknown. */
export function secondsBetween(from: string | null, to: string | null): number | null {
  const [start, end] = [microseconds(from), microseconds(to)]
  return start === null || end === null ? null : Math.floor((end - start) / 1_000_000)
}

/** Returns whether both times are known and the first is later. */
export const isLater = (one: string | null, other: string | null): boolean =>
  one !== null && other !== null && one > other
