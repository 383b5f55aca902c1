import { useSeconds } from '../lib/clock.ts'
import { partyText, plural, stageTarget, stopwatch, words } from '../lib/format.ts'
import type { BoardCall } from '../lib/live.ts'
import type { Call, Party, Stage } from '../lib/resources.ts'
import { placeHref } from '../lib/router.ts'
import { Icon } from '../parts/icon.tsx'
import { Badge } from '../parts/shown.tsx'

const SHOWN = 60

/** The calls that are up, the newest first, each with the stage that it is at. */
export function CallBoard({ calls }: { calls: readonly BoardCall[] }) {
  const nowMs = useSeconds()
  const sorted = calls.toSorted((a, b) => (b.call.started_at ?? '').localeCompare(a.call.started_at ?? ''))
  return (
    <>
      <ul class="board">
        {sorted.slice(0, SHOWN).map((held) => (
          <li key={held.call.id} class={held.endedAtMs === null ? 'board-call' : 'board-call over'}>
            <BoardRow held={held} nowMs={nowMs} />
          </li>
        ))}
      </ul>
      {calls.length > SHOWN ? <p class="more">and {plural(calls.length - SHOWN, 'more call')}</p> : null}
    </>
  )
}

function BoardRow({ held, nowMs }: { held: BoardCall; nowMs: number }) {
  const { call } = held
  const over = held.endedAtMs !== null
  const since = call.state === 'answered' ? call.answered_at : call.started_at
  const counted = since === null ? null : ((held.endedAtMs ?? nowMs) - Date.parse(since)) / 1_000
  const seconds = over ? (call.duration ?? counted) : counted
  return (
    <a class="board-row" href={placeHref('calls', call.id)}>
      <span class={`direction ${call.direction}`} title={call.direction}>
        <Icon name={call.direction} />
        <span class="hidden">{call.direction}</span>
      </span>
      <span class="board-who">
        <span class="parties">
          <PartyName party={call.from} />
          <span class="to" aria-hidden="true">
            →
          </span>
          <span class="hidden">to</span>
          <PartyName party={call.to} />
        </span>
        <StageLine call={call} stages={held.stages} />
      </span>
      <span class="board-state">
        <Badge word={over ? (call.result ?? 'ended') : call.state} dot={!over} />
        <span class="watch">{seconds === null ? '–' : stopwatch(seconds)}</span>
      </span>
    </a>
  )
}

export function PartyName({ party }: { party: Party }) {
  const number = party.extension ?? party.number
  return (
    <span class="party">
      <b>{party.name ?? number ?? 'anonymous'}</b>
      {party.name !== null && number !== null && number !== party.name ? <span class="soft"> {number}</span> : null}
    </span>
  )
}

/** At which stage the call is: who rings, who talks, which queue it waits in, and how often it was transferred. */
function StageLine({ call, stages }: { call: Call; stages: readonly Stage[] }) {
  const up = stages.filter((stage) => stage.ended_at === null && (stage.kind === 'user' || stage.kind === 'external'))
  const talking = up.filter((stage) => stage.answered_at !== null)
  const ringing = up.filter((stage) => stage.answered_at === null)
  const marks = [
    ...ringing.map((stage) => ({ key: stage.id, tone: 'ring', text: `rings ${stageTarget(stage)}` })),
    ...talking.map((stage) => ({ key: stage.id, tone: 'good', text: `talks ${stageTarget(stage)}` })),
  ]
  return (
    <span class="stage-line">
      {call.queue === null || call.state !== 'waiting' ? null : (
        <span class="stage-mark wait">
          queue {call.queue.name}
          {call.queue.position === null ? '' : ` · position ${call.queue.position}`}
        </span>
      )}
      {marks.slice(0, 6).map((mark) => (
        <span key={mark.key} class={`stage-mark ${mark.tone}`}>
          {mark.text}
        </span>
      ))}
      {marks.length > 6 ? <span class="soft">+{marks.length - 6}</span> : null}
      {marks.length === 0 && call.state === 'answered' && call.handled_by.length > 0 ? (
        <span class="stage-mark good">with {partyText(call.handled_by.at(-1) ?? null)}</span>
      ) : null}
      {call.transfers > 0 ? <span class="stage-mark mute">{plural(call.transfers, 'transfer')}</span> : null}
      {call.recorded ? <span class="stage-mark bad">recorded</span> : null}
      {call.partial ? <span class="stage-mark mute">partly seen</span> : null}
      {call.state === 'ended' && call.hangup !== null ? (
        <span class="soft">
          {words(call.hangup.cause)}, by {call.hangup.by}
        </span>
      ) : null}
    </span>
  )
}
