import { CallBadge, DirectionIcon } from '../../components/badge.tsx'
import { PartyName } from '../../components/party-name.tsx'
import { formatHangup, formatStageTarget, formatStopwatch, pluralize } from '../../lib/format.ts'
import type { LiveCallEntry } from '../../lib/live-state.ts'
import type { Call, Stage } from '../../lib/resources.ts'
import { routeHref } from '../../lib/router.ts'
import { useServerNow } from '../../lib/server-clock.ts'

/** More rows than anybody reads; each costs a redraw every second. */
const MAX_ROWS = 60
const MAX_STAGES = 6

type LiveCallsProps = {
  calls: readonly LiveCallEntry[]
  /** How many calls are up; the page knows the newest ones, and those that have changed since. */
  count: number
}

/** Shows the calls that are up, the newest first, each with its present stages. */
export function LiveCalls({ calls, count }: LiveCallsProps) {
  const all = Math.max(calls.length, count)
  const nowMs = useServerNow()
  const sorted = calls.toSorted((a, b) => (b.call.started_at ?? '').localeCompare(a.call.started_at ?? ''))
  return (
    <>
      <ul class="live-calls">
        {sorted.slice(0, MAX_ROWS).map((entry) => (
          <li key={entry.call.id} class={entry.endedAtMs === null ? 'live-call' : 'live-call ended'}>
            <LiveCallRow entry={entry} nowMs={nowMs} />
          </li>
        ))}
      </ul>
      {all > MAX_ROWS ? (
        <p class="more">
          These are the newest {MAX_ROWS} of {pluralize(all, 'call')}. <a href={routeHref('deliveries')}>Search</a> for
          another one by its number.
        </p>
      ) : null}
    </>
  )
}

function LiveCallRow({ entry, nowMs }: { entry: LiveCallEntry; nowMs: number }) {
  const { call } = entry
  const ended = entry.endedAtMs !== null
  const since = call.state === 'answered' ? call.answered_at : call.started_at
  const elapsed = since === null ? null : ((entry.endedAtMs ?? nowMs) - Date.parse(since)) / 1_000
  const seconds = ended ? (call.duration ?? elapsed) : elapsed
  return (
    <a class="live-call-row" href={routeHref('calls', call.id)}>
      <DirectionIcon direction={call.direction} />
      <span class="live-call-text">
        <span class="parties">
          <PartyName party={call.from} />
          <span class="arrow-text" aria-hidden="true">
            →
          </span>
          <span class="visually-hidden">to</span>
          <PartyName party={call.to} />
        </span>
        <StageTags call={call} stages={entry.stages} />
      </span>
      <span class="live-call-state">
        <CallBadge state={ended ? (call.result ?? 'ended') : call.state} dot={!ended} />
        <span class="elapsed">{formatStopwatch(seconds)}</span>
      </span>
    </a>
  )
}

const PARTIAL_MEANING = 'the PBX was not connected during the whole call, so some of its events may be missing'

/** Writes who handles a call, as the target of a stage. */
function formatHandler({ handled_by: handledBy }: Call): string {
  const last = handledBy.at(-1)
  return formatStageTarget({ target: last?.extension ?? last?.number ?? null, name: last?.name ?? null })
}

/** Shows who is ringing or talking, which queue the call waits in, and how often it was transferred. */
function StageTags({ call, stages }: { call: Call; stages: readonly Stage[] }) {
  const open = stages.filter((stage) => stage.ended_at === null && (stage.kind === 'user' || stage.kind === 'external'))
  const talking = open.filter((stage) => stage.answered_at !== null)
  const ringing = open.filter((stage) => stage.answered_at === null)
  const tags = [
    ...ringing.map((stage) => ({ key: stage.id, tone: 'ring', text: `ringing ${formatStageTarget(stage)}` })),
    ...talking.map((stage) => ({ key: stage.id, tone: 'good', text: `talking to ${formatStageTarget(stage)}` })),
  ]
  return (
    <span class="stage-tags">
      {call.queue === null || call.state !== 'waiting' ? null : (
        <span class="stage-tag pending">
          queue {call.queue.name}
          {call.queue.position === null ? '' : ` · position ${call.queue.position}`}
        </span>
      )}
      {tags.slice(0, MAX_STAGES).map((tag) => (
        <span key={tag.key} class={`stage-tag ${tag.tone}`}>
          {tag.text}
        </span>
      ))}
      {tags.length > MAX_STAGES ? <span class="muted">+{tags.length - MAX_STAGES}</span> : null}
      {tags.length === 0 && call.state === 'answered' && call.handled_by.length > 0 ? (
        <span class="stage-tag good">talking to {formatHandler(call)}</span>
      ) : null}
      {call.transfers > 0 ? <span class="stage-tag">{pluralize(call.transfers, 'transfer')}</span> : null}
      {call.recorded ? <span class="stage-tag bad">recorded</span> : null}
      {call.partial ? (
        <span class="stage-tag" title={PARTIAL_MEANING}>
          partly seen<span class="visually-hidden">: {PARTIAL_MEANING}</span>
        </span>
      ) : null}
      {call.state === 'ended' && call.hangup !== null ? <span class="muted">{formatHangup(call.hangup)}</span> : null}
    </span>
  )
}
