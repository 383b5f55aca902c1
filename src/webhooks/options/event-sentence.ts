import { stateSentenceOf } from '../../events/state-sentence.ts'
import type { CallView, EventView, PartyView, StageView, TransferView } from './event-view.ts'

/** An event in words: a title, and named facts. Not escaped. */
type Sentence = { readonly title: string; readonly facts: readonly (readonly [name: string, value: string])[] }

/** Returns what happened, for a chat: "Anna (101) answered +4930123456". */
export function chatSentenceOf({ data }: EventView): Sentence {
  const { name, call, stage, transfer, by } = data
  if (call === undefined) {
    const title = stateSentenceOf(data) ?? `Hookswitch: ${name}`
    return { title, facts: data.pbx === undefined ? [['Account', data.account]] : [['PBX', data.pbx]] }
  }
  const from = partyName(call.from)
  const to = partyName(call.to)
  const title = titleOf(name, { call, from, to, stage, transfer, by })
  return { title, facts: factsOf(data.pbx, call, from, to) }
}

type Parts = {
  readonly call: CallView
  readonly stage: StageView | null | undefined
  readonly transfer: TransferView | undefined
  readonly by: PartyView | null | undefined
  readonly from: string
  readonly to: string
}

function titleOf(name: string, { call, from, to, stage, transfer, by }: Parts): string {
  switch (name) {
    case 'call_started':
      return `${capitalized(call.direction)} call from ${from} to ${to}`
    case 'dial_started':
      return `${stageName(stage)} rings: ${from} calls`
    case 'dial_answered':
      return `${stageName(stage)} answered ${from}`
    case 'dial_ended':
      return stage?.result === 'answered'
        ? `${stageName(stage)} left the call with ${from}${seconds(stage.talk_duration)}`
        : `${stageName(stage)} did not answer ${from} (${plain(stage?.result)})`
    case 'call_blind_transferred':
    case 'call_attended_transferred':
      return `${partyName(transfer?.by)} transferred ${from} to ${partyName(transfer?.to)}`
    case 'call_held':
      return `${partyName(by)} put ${from} on hold`
    case 'call_resumed':
      return `${partyName(by)} took ${from} off hold`
    case 'call_missed':
      return `Missed call from ${from} to ${to}`
    case 'call_ended':
      return call.answered_by === null
        ? `Call from ${from} to ${to} ended without an answer (${plain(call.result)})`
        : `Call from ${from} to ${to} ended, answered by ${partyName(call.answered_by)}${seconds(call.talk_duration)}`
    case 'call_saved':
      return `Call from ${from} to ${to} was saved`
    case 'recording_saved':
      return `The recording of the call from ${from} to ${to} is ready`
    default:
      return `${name}: call from ${from} to ${to}`
  }
}

function factsOf(pbx: string | undefined, call: CallView, from: string, to: string): [string, string][] {
  const facts: [string, string][] = [
    ['From', from],
    ['To', to],
    ['Direction', call.direction],
  ]
  if (call.queue !== null) facts.push(['Queue', call.queue.name])
  if (call.result !== null) facts.push(['Result', plain(call.result)])
  if (call.duration !== null) facts.push(['Duration', `${call.duration} s`])
  if (pbx !== undefined) facts.push(['PBX', pbx])
  return facts
}

/** Returns the name of a party: `Anna (101)`, `+4930123456`, `anonymous`. */
function partyName(party: PartyView | null | undefined): string {
  const number = party?.extension ?? party?.number ?? null
  const name = party?.name ?? null
  if (name === null || name === number) return number ?? 'anonymous'
  return number === null ? name : `${name} (${number})`
}

function stageName(stage: StageView | null | undefined): string {
  const target = stage?.target ?? 'somebody'
  return stage?.name == null || stage.name === target ? target : `${stage.name} (${target})`
}

const plain = (word: string | null | undefined): string => (word ?? 'unknown').replaceAll('_', ' ')
const seconds = (duration: number | null): string => (duration === null ? '' : ` after ${duration} s`)
const capitalized = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1)
