import { isLater, microseconds, type Rule, type Stories, type Story, stageText } from './story.ts'

/** Rules about transfers, consultations and merged calls. */

const transfersOf = ({ bodies }: Story) =>
  bodies.flatMap(({ time, data }, index) =>
    'transfer' in data ? [{ time, index, transfer: data.transfer, name: data.name }] : [],
  )

/** A party that transferred leaves within this time. */
const LEAVES_US = 1_000_000

export const TRANSFERS: readonly Rule[] = [
  {
    name: 'a transfer is of its call',
    sentence: 'call_id: the surviving call; other_call_id: of an attended transfer the one merged into it',
    check: (story) =>
      transfersOf(story).flatMap(({ name, transfer }) => [
        ...(transfer.call_id === story.id ? [] : [`${name}: of the call ${transfer.call_id}`]),
        ...(transfer.other_call_id === story.id ? [`${name}: merges the call with itself`] : []),
        ...(name === `call_${transfer.kind}_transferred` ? [] : [`${name}: its kind is ${transfer.kind}`]),
        ...(transfer.kind === 'blind' && transfer.other_call_id !== null ? [`${name}: merges a call`] : []),
      ]),
  },
  {
    name: 'transfers are counted',
    sentence: '`transfers`: how many so far',
    check: ({ bodies, isMerged }) => {
      let count = 0
      return bodies.flatMap(({ data }) => {
        if ('transfer' in data) count += 1
        const { transfers } = data.call
        return transfers === count || (isMerged && transfers > count)
          ? []
          : [`${data.name}: ${transfers} transfers, not ${count}`]
      })
    },
  },
  {
    name: 'a transferer leaves with the transfer',
    sentence: 'a transfer is emitted before the dial_ended of the party that transferred, who leaves the call',
    check: transfererLeaves,
  },
  {
    name: 'calls that were merged',
    sentence:
      '`merged_from` has our ids of the calls merged into it; such a call has no call_ended, or one with merged_into',
    check: (story, all) => {
      const from = story.bodies.at(-1)?.data.call.merged_from ?? []
      const named = transfersOf(story).flatMap(({ transfer: { other_call_id: id } }) => (id === null ? [] : [id]))
      return [
        ...named
          .filter((id) => !from.includes(id))
          .map((id) => `a transfer merges ${id}, and merged_from does not have it`),
        ...from.flatMap((id) => wrongMerge(id, story, all)),
        ...(new Set(from).size < from.length ? ['merged_from has a call twice'] : []),
      ]
    },
  },
  {
    name: 'the older call survives',
    sentence: "joined, the older call's id survives",
    check: (story, all) =>
      transfersOf(story).flatMap(({ transfer: { other_call_id: id } }) => {
        const other = all.get(id ?? '')?.bodies[0]?.data.call.started_at ?? null
        return isLater(story.bodies[0]?.data.call.started_at ?? null, other)
          ? ['the call that was merged is older']
          : []
      }),
  },
  {
    name: 'a consultation has its call',
    sentence: '`parent_id`: the call it was made for, which began before',
    check: ({ id, bodies }, all) => {
      const call = bodies[0]?.data.call
      const parentId = bodies.at(-1)?.data.call.parent_id ?? null
      if (call === undefined || parentId === null) return []
      const parent = all.get(parentId)?.bodies[0]?.data.call
      if (parent === undefined) return ['nothing was emitted of the call that it was made for']
      if (parentId === id) return ['it was made for itself']
      return isLater(parent.started_at, call.started_at) ? ['it began before the call that it was made for'] : []
    },
  },
]

function transfererLeaves(story: Story): string[] {
  return transfersOf(story).flatMap(({ time, index, name, transfer: { by } }, at, all) => {
    if (by.extension === null) return []
    // Of a three-way call: who brought the others together stays, and may transfer again.
    if (all.slice(at + 1).some(({ transfer }) => transfer.by.extension === by.extension)) return []
    const open = story.stages.filter(
      ({ id, last }) =>
        last.kind === 'user' &&
        last.target === by.extension &&
        last.answered_at !== null &&
        !isLater(last.answered_at, time) &&
        !story.bodies.slice(0, index).some(({ data }) => data.name === 'dial_ended' && data.stage.id === id),
    )
    return open.flatMap(({ last }) => {
      const afterUs = (microseconds(last.ended_at) ?? 0) - (microseconds(time) ?? 0)
      // A room that both are moved to has both.
      const isLast = !story.bodies.slice(index).some(({ data }) => data.name === 'dial_started')
      if (isLast && last.ended_at === story.ended?.call.ended_at) return []
      if (last.ended_at === null) return [`${name}: ${stageText(last)} never left`]
      return afterUs > LEAVES_US ? [`${name}: ${stageText(last)} left ${afterUs / 1_000_000} s later`] : []
    })
  })
}

function wrongMerge(id: string, story: Story, all: Stories): string[] {
  const other = all.get(id)
  if (other?.ended === undefined) return []
  return other.ended.call.merged_into === story.id ? [] : [`${id} was merged, and ended on its own`]
}
