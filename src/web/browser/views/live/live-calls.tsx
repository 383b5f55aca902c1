import { useState } from 'preact/hooks'
import { PartyName } from '../../components/party-name.tsx'
import { DirectionIcon, State } from '../../components/state.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { describeLiveCall } from '../../lib/call-words.ts'
import { formatStopwatch, pluralize } from '../../lib/format.ts'
import type { LiveCallEntry } from '../../lib/live-state.ts'
import { routeHref } from '../../lib/router.ts'
import { useServerNow } from '../../lib/server-clock.ts'

/** Rows at first, few enough to keep the rest of the view in reach. */
const FIRST_ROWS = 15
/** More rows than anybody reads; each costs a redraw every second. */
const MAX_ROWS = 60

type LiveCallsProps = {
  /** `null`: not read yet. */
  calls: readonly LiveCallEntry[] | null
  /** The number of calls that are up; the page has the newest calls, and calls that have changed since. */
  count: number
}

/** Shows the calls that are up, the newest first, each with what happens in it. */
export function LiveCalls({ calls, count }: LiveCallsProps) {
  const all = Math.max(calls?.length ?? 0, count)
  const nowMs = useServerNow()
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole ? MAX_ROWS : FIRST_ROWS
  const sorted = calls?.toSorted((a, b) => (b.call.started_at ?? '').localeCompare(a.call.started_at ?? '')) ?? null
  return (
    <>
      <Table
        label="Calls now"
        items={sorted?.slice(0, shown) ?? null}
        columns={columnsOf(nowMs)}
        keyOf={({ call }) => call.id}
        hrefOf={({ call }) => routeHref('calls', call.id)}
        isFaded={({ endedAtMs }) => endedAtMs !== null}
      />
      {all <= shown ? null : isWhole ? (
        <p class="more">
          These are the newest {MAX_ROWS} of {pluralize(all, 'call')}.
        </p>
      ) : (
        <p class="more">
          {shown} of {all.toLocaleString('en')} ·{' '}
          <button type="button" class="button small quiet" onClick={() => setWhole(true)}>
            Show more
          </button>
        </p>
      )}
    </>
  )
}

const columnsOf = (nowMs: number): Column<LiveCallEntry>[] => [
  {
    name: 'Direction',
    isNameHidden: true,
    width: 32,
    place: 'lead',
    cell: ({ call }) => <DirectionIcon {...call} />,
  },
  {
    name: 'Call',
    place: 'a1',
    cell: ({ call }) => (
      <a class="cut" href={routeHref('calls', call.id)}>
        <PartyName party={call.from} /> <span class="dim">→</span>
        <span class="hidden"> to</span>{' '}
        <span class="soft">
          <PartyName party={call.to} />
        </span>
      </a>
    ),
  },
  {
    name: 'State',
    width: '30%',
    place: 'b1',
    cell: ({ call, stages, heldBy }) => {
      const { tone, text } = describeLiveCall(call, stages, heldBy)
      return (
        <State tone={tone}>
          <bdi>{text}</bdi>
        </State>
      )
    },
  },
  {
    name: 'PBX',
    width: '17%',
    place: 'b2',
    cell: ({ pbx }) => (
      <span class="cut" title={pbx}>
        {pbx}
      </span>
    ),
  },
  { name: 'For', width: 60, place: 'a2', isEnd: true, cell: (entry) => formatStopwatch(secondsOf(entry, nowMs)) },
]

/** Returns how long a call has been talked, or has been up; a call that has ended keeps its duration. */
function secondsOf({ call, endedAtMs }: LiveCallEntry, nowMs: number): number | null {
  if (endedAtMs !== null && call.duration !== null) return call.duration
  const since = call.state === 'answered' ? call.answered_at : call.started_at
  return since === null ? null : ((endedAtMs ?? nowMs) - Date.parse(since)) / 1_000
}
