import { SentList } from '../../components/delivery-link.tsx'
import type { StoryLine } from '../../lib/call-story.ts'
import { formatExactTime, formatStopwatch, formatTimeMs } from '../../lib/format.ts'

type StoryProps = {
  readonly lines: readonly StoryLine[]
  readonly startedAt: string | null
  /** The key of the line whose JSON is shown. */
  readonly current: string | null
  readonly onChoose: (key: string) => void
}

/** Shows what happened in a call, in sentences, each with the deliveries of its events. */
export function Story({ lines, startedAt, current, onChoose }: StoryProps) {
  return (
    <ol class="story">
      {lines.map(({ key, at, tone, text, detail, events }) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the button in it does this with the keyboard
        <li
          key={key}
          class={key === current ? 'current' : ''}
          onClick={(event) => {
            if (!(event.target instanceof Element && event.target.closest('a'))) onChoose(key)
          }}
        >
          <time dateTime={at} title={formatExactTime(at)}>
            {startedAt === null ? '' : formatStopwatch((Date.parse(at) - Date.parse(startedAt)) / 1_000)}
          </time>
          <i class={`knot ${tone}`} aria-hidden="true" />
          <p>
            <button type="button" class="bare" aria-pressed={key === current} onClick={() => onChoose(key)}>
              <bdi>{text}</bdi>
            </button>
            <small>
              {detail} · {formatTimeMs(at)}
            </small>
          </p>
          <SentList deliveries={events.flatMap(({ deliveries }) => deliveries)} />
        </li>
      ))}
    </ol>
  )
}
