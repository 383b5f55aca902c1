import { stopwatch, words } from '../lib/format.ts'
import type { Recording, Stage } from '../lib/resources.ts'
import { When } from '../parts/shown.tsx'

export function Stages({ stages }: { stages: readonly Stage[] }) {
  if (stages.length === 0) return null
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: on a phone the table scrolls, and has to be reachable with the keyboard
    <section class="card" aria-labelledby="stages" tabIndex={0}>
      <header class="card-head">
        <h2 id="stages">Stages</h2>
      </header>
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">Who</th>
            <th scope="col">Kind</th>
            <th scope="col">Started</th>
            <th scope="col" class="number">
              Rang
            </th>
            <th scope="col" class="number">
              Talked
            </th>
            <th scope="col">Result</th>
          </tr>
        </thead>
        <tbody>
          {stages.map((stage) => (
            <tr key={stage.id}>
              <td class={stage.parent_id === null ? '' : 'nested'}>
                <b>{stage.target ?? 'unknown'}</b>
                {stage.name === null || stage.name === stage.target ? null : <span class="soft"> {stage.name}</span>}
              </td>
              <td>
                {stage.kind}
                {stage.attempt > 1 ? <span class="soft"> · attempt {stage.attempt}</span> : null}
              </td>
              <td>
                <When at={stage.started_at} />
              </td>
              <td class="number">{stage.ring_duration === null ? '–' : stopwatch(stage.ring_duration)}</td>
              <td class="number">{stage.talk_duration === null ? '–' : stopwatch(stage.talk_duration)}</td>
              <td>
                {stage.result === null ? 'still up' : words(stage.result)}
                {stage.forwarded_to === null ? null : <span class="soft"> to {stage.forwarded_to}</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

export function Recordings({ recordings }: { recordings: readonly Recording[] }) {
  if (recordings.length === 0) return null
  return (
    <section class="card" aria-labelledby="recordings">
      <header class="card-head">
        <h2 id="recordings">Recordings</h2>
        <p class="soft">They lie on the PBX.</p>
      </header>
      <ul class="recordings">
        {recordings.map((recording) => (
          <li key={recording.id}>
            <code>{recording.path ?? 'path unknown'}</code>
            <span class="soft">
              {[recording.format, recording.duration === null ? null : stopwatch(recording.duration)]
                .filter((part) => part !== null)
                .join(' · ')}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
