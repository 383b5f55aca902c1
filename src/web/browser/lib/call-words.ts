import { partyText } from './contact.ts'
import { formatStageTarget, humanize, pluralize } from './format.ts'
import type { Call, Party, Stage } from './resources.ts'
import type { Tone } from './tone.ts'

/** The state and the end of a call in words. Pure. */
type Said = { readonly tone: Tone; readonly text: string }

/** More would not fit on a line. */
const MAX_NAMED = 3

/** Writes what happens in a call that is up. `isHeld`: one party has put the other on hold. */
export function describeLiveCall(call: Call, stages: readonly Stage[], heldBy: Party | null | undefined): Said {
  if (call.state === 'ended') return describeOutcome(call)
  if (heldBy !== undefined)
    return { tone: 'wait', text: heldBy === null ? 'on hold' : `on hold by ${partyText(heldBy)}` }
  const open = stages.filter((stage) => stage.ended_at === null && (stage.kind === 'user' || stage.kind === 'external'))
  const talking = open.filter((stage) => stage.answered_at !== null)
  const ringing = open.filter((stage) => stage.answered_at === null)
  if (call.state === 'answered') return { tone: 'good', text: describeTalk(call, talking) }
  if (call.state === 'waiting' && call.queue !== null) {
    const { name, position } = call.queue
    return { tone: 'wait', text: `waits in ${name}${position === null ? '' : `, ${ordinal(position)}`}` }
  }
  if (ringing.length === 0)
    return { tone: call.state === 'waiting' ? 'wait' : 'ring', text: call.state === 'waiting' ? 'waits' : 'rings' }
  const named = ringing
    .slice(0, MAX_NAMED)
    .map((stage) => (ringing.length === 1 ? formatStageTarget(stage) : (stage.target ?? 'somebody')))
  const others = ringing.length - named.length
  return { tone: 'ring', text: `rings ${named.join(', ')}${others > 0 ? ` and ${others} more` : ''}` }
}

function describeTalk(call: Call, talking: readonly Stage[]): string {
  // Who handles an outbound call is its caller, who talks to the one that he called.
  const other = call.direction === 'outbound' ? call.to : call.handled_by.at(-1)
  const [only] = talking
  const name =
    talking.length === 1 && only !== undefined && (call.direction !== 'outbound' || only.kind === 'external')
      ? formatStageTarget(only)
      : other === undefined
        ? null
        : partyText(other)
  const transfers = call.transfers === 0 ? '' : ` · ${pluralize(call.transfers, 'transfer')}`
  return `${name === null ? 'talks' : `talks to ${name}`}${transfers}`
}

const ordinal = (n: number): string => {
  const ending = n % 100 >= 11 && n % 100 <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][n % 10] ?? 'th')
  return `${n}${ending}`
}

/** Writes how a call ended: who answered, or why nobody did. */
export function describeOutcome(call: Call): Said {
  const { result, missed, missed_by: tried, handled_by: handled, answered_by: answered, hangup, queue } = call
  if (result === 'answered') {
    const owner = call.direction === 'outbound' ? null : (handled.at(-1) ?? answered)
    return { tone: 'good', text: owner === null ? 'answered' : partyText(owner) }
  }
  if (result === 'voicemail') return { tone: 'wait', text: 'voicemail' }
  if (missed === true) {
    const left = queue !== null && hangup?.by === 'caller' ? ', left the queue' : ''
    return { tone: 'bad', text: `missed${left !== '' ? left : tried.length > 1 ? `, ${tried.length} tried` : ''}` }
  }
  if (result === 'failed')
    return {
      tone: 'bad',
      text: hangup === null || hangup.cause === 'unknown' ? 'failed' : `failed: ${humanize(hangup.cause)}`,
    }
  if (result === 'busy') return { tone: 'ring', text: 'busy' }
  if (call.merged_into !== null) return { tone: 'none', text: 'part of another call' }
  const isGivenUp = result === null && answered === null && hangup?.by === 'caller'
  if (result === 'cancelled' || isGivenUp) return { tone: 'none', text: 'the caller gave up' }
  return result === null ? { tone: 'none', text: 'ended' } : { tone: 'ring', text: humanize(result) }
}
