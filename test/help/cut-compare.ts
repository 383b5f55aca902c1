import type { Call as CallBody, CallEvent, Stage } from '../../src/events/bodies.ts'
import { type Cut, inRecording } from './cut.ts'

/**
 * Holds the calls of a recording with a lost connection against the same calls without one. What may differ is written
 * as rules, each with its sentence of the guide: all else must be equal.
 */

type Saved = Extract<CallEvent['body']['data'], { name: 'call_saved' }>

/** Times that a list or the order of events may move. */
const TOLERANCE_US = 300_000

const savedIn = (events: readonly CallEvent[]): Saved[] =>
  events.flatMap(({ body }) => (body.data.name === 'call_saved' ? [body.data] : []))

/** Something that began and ended. */
type Span = { readonly started_at: string | null; readonly ended_at: string | null }

/** Returns the differences that no rule allows, each with the field's name first. */
export function cutDifferences(whole: readonly CallEvent[], cut: readonly CallEvent[], gap: Cut): string[] {
  const before = savedIn(whole)
  const after = savedIn(cut)
  const known = new Set(whole.map(({ body }) => body.data.call.pbx_id))
  const isUnseen = (time: string | null): boolean => {
    const us = inRecording(time)
    return us !== null && us >= gap.fromUs - TOLERANCE_US && us <= gap.untilUs + TOLERANCE_US
  }
  // "One that began and ended while the connection was away" was in no list.
  const isWithin = ({ started_at, ended_at }: Span): boolean =>
    (started_at === null || isUnseen(started_at)) && isUnseen(ended_at)
  const differ: string[] = []
  // "never a call of its own": whoever is found belongs to a call that was there.
  for (const { call } of after) {
    if (call.merged_into !== null) continue
    const isThere = before.some((one) => one.call.pbx_id === call.pbx_id)
    if (isThere) continue
    differ.push(
      known.has(call.pbx_id)
        ? `unmerged: ${call.pbx_id} ends on its own`
        : `own call: ${call.pbx_id} ${call.direction} ${call.from.number} ${call.to.number}`,
    )
  }
  for (const one of before) {
    if (isWithin(one.call)) continue
    // Asterisk counts a consultation to the call for which it is made.
    const [best] = after
      .filter(({ call }) => call.pbx_id === one.call.pbx_id && call.merged_into === one.call.merged_into)
      .map((other) => callDiffers(one, other, { isUnseen, isWithin }))
      .toSorted((a, b) => a.length - b.length)
    differ.push(...(best ?? [`lost call: ${one.call.pbx_id} ${one.call.from.number} ${one.call.to.number}`]))
  }
  return [...differ, ...notEmitted(whole, cut, isWithin)]
}

/** Returns the calls that were up at a moment that was seen, and were never emitted: consultations that were joined. */
function notEmitted(whole: readonly CallEvent[], cut: readonly CallEvent[], isWithin: Gap['isWithin']): string[] {
  const word = ({ pbx_id, from }: CallBody): string => `${pbx_id} of ${from.number}`
  const startsIn = (events: readonly CallEvent[]): CallBody[] =>
    events.flatMap(({ name, body }) => (name === 'call_started' ? [body.data.call] : []))
  const left = startsIn(cut).map(word)
  return startsIn(whole).flatMap((call) => {
    const isOf = ({ name, body: { data } }: CallEvent): boolean =>
      name !== 'call_saved' && (data.call.id === call.id || joins(data) === call.id)
    const endsAt = whole.findLast(isOf)?.body.time
    const isTold = left.includes(word(call))
    if (isTold) left.splice(left.indexOf(word(call)), 1)
    const span = { started_at: call.started_at, ended_at: endsAt ?? null }
    return isTold || isWithin(span) ? [] : [`not emitted: ${word(call)} to ${call.to.number}`]
  })
}

const joins = (data: CallEvent['body']['data']): string | null =>
  'transfer' in data ? data.transfer.other_call_id : null

type Gap = {
  readonly isUnseen: (time: string | null) => boolean
  readonly isWithin: (span: Span) => boolean
}

const party = (one: { number: string | null } | null): string => one?.number ?? '-'

function callDiffers(one: Saved, other: Saved, of: Gap): string[] {
  const differ: string[] = []
  const [a, b] = [one.call, other.call]
  const same = (field: string, wanted: unknown, got: unknown): void => {
    if (wanted !== got) differ.push(`${field}: wanted ${wanted}, got ${got} (${a.pbx_id})`)
  }
  const isEndUnseen = of.isUnseen(a.ended_at)
  const shown = one.stages.filter((stage) => isShown(stage, of))
  const talked = shown.filter((stage) => stage.kind !== 'group' && stage.kind !== 'queue' && isTalkShown(stage, of))
  same('direction', a.direction, b.direction)
  same('from', party(a.from), party(b.from))
  same('to', party(a.to), party(b.to))
  same('did', a.did, b.did)
  same('queue', a.queue?.name, b.queue?.name)
  // "an unanswered call `no_answer`" if its end was not seen; and what talked only unseen did not answer.
  const isAnswerShown = a.answered_at === null || !of.isUnseen(a.answered_at) || talked.length > 0
  if (!isEndUnseen && isAnswerShown) same('result', a.result, b.result)
  if (!isEndUnseen) same('hangup', JSON.stringify(a.hangup), JSON.stringify(b.hangup))
  if (isAnswerShown && a.answered_by !== null && talked.some(({ target }) => target === a.answered_by?.number))
    same('answered_by', party(a.answered_by), party(b.answered_by))
  const owner = a.handled_by.at(-1)
  if (owner !== undefined && (talked.some(({ target }) => target === owner.number) || a.direction === 'outbound'))
    same('owner', party(owner), party(b.handled_by.at(-1) ?? null))
  if (!of.isUnseen(a.started_at)) sameTime(same, 'started_at', a.started_at, b.started_at)
  if (a.answered_at !== null && !of.isUnseen(a.answered_at)) sameTime(same, 'answered_at', a.answered_at, b.answered_at)
  return [...differ, ...stagesDiffer(one, other, shown, of)]
}

function sameTime(
  same: (field: string, wanted: unknown, got: unknown) => void,
  field: string,
  wanted: string | null,
  got: string | null,
): void {
  const [a, b] = [inRecording(wanted), inRecording(got)]
  if (a === null || b === null || Math.abs(a - b) > TOLERANCE_US) same(field, wanted, got)
}

/** Returns whether a stage was up at a moment that was seen. */
const isShown = (stage: Stage, of: Gap): boolean => !of.isWithin(stage)

/** Returns whether a party talked at a moment that was seen. */
const isTalkShown = ({ answered_at, ended_at }: Stage, of: Gap): boolean =>
  answered_at !== null && !(of.isUnseen(answered_at) && of.isUnseen(ended_at))

const PARTIES = new Set(['user', 'external'])

function stagesDiffer(one: Saved, other: Saved, shown: readonly Stage[], of: Gap): string[] {
  const differ: string[] = []
  const left = [...other.stages]
  const wordOf = (all: readonly Stage[], { kind, target, parent_id }: Stage): string => {
    const parent = all.find(({ id }) => id === parent_id)
    return `${kind} ${target}${parent === undefined ? '' : ` in ${parent.kind} ${parent.target}`}`
  }
  for (const stage of shown) {
    const word = wordOf(one.stages, stage)
    const mine = left.filter(({ kind, target }) => kind === stage.kind && target === stage.target)
    const found = mine.find((two) => wordOf(other.stages, two) === word && two.result === stage.result) ?? mine[0]
    if (found === undefined) {
      differ.push(`stage lost: ${word} ${stage.result} (${one.call.pbx_id})`)
      continue
    }
    left.splice(left.indexOf(found), 1)
    const got = wordOf(other.stages, found)
    if (got !== word) differ.push(`parent: wanted ${word}, got ${got} (${one.call.pbx_id})`)
    // "an unanswered stage is `other`" if its end was not seen.
    const isEndUnseen = of.isUnseen(stage.ended_at)
    const isAnswered = stage.answered_at !== null
    const isHidden = isAnswered && !isTalkShown(stage, of)
    if (!isHidden && (isAnswered || !isEndUnseen) && found.result !== stage.result)
      differ.push(`stage result: ${word}: wanted ${stage.result}, got ${found.result} (${one.call.pbx_id})`)
    if (found.name !== stage.name && found.name !== null)
      differ.push(`stage name: ${word}: wanted ${stage.name}, got ${found.name} (${one.call.pbx_id})`)
    if (!PARTIES.has(stage.kind)) continue
    if (stage.answered_at !== null && !of.isUnseen(stage.answered_at))
      sameTime(
        (field, wanted, got) =>
          differ.push(`stage ${field}: ${word}: wanted ${wanted}, got ${got} (${one.call.pbx_id})`),
        'answered_at',
        stage.answered_at,
        found.answered_at,
      )
  }
  for (const stage of left) {
    const isRung = one.stages.some(({ kind, target }) => kind === stage.kind && target === stage.target)
    if (!isRung || stage.attempt > 1)
      differ.push(`stage extra: ${wordOf(other.stages, stage)} ${stage.result} (${one.call.pbx_id})`)
  }
  return differ
}
