import { Time } from '../../components/time.tsx'
import { formatStopwatch, humanize } from '../../lib/format.ts'
import type { Stage } from '../../lib/resources.ts'

/** Shows the stages of a call as a table, and marks the stages that are heard now. */
export function StageTable({ stages, current }: { stages: readonly Stage[]; current: ReadonlySet<string> }) {
  if (stages.length === 0) return null
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: on a phone the table scrolls, and has to be reachable with the keyboard
    <section class="card" aria-labelledby="stages" tabIndex={0}>
      <header class="card-head">
        <h2 id="stages">Stages</h2>
      </header>
      <table class="rows stage-rows">
        <thead>
          <tr>
            <th scope="col">Target</th>
            <th scope="col" class="wide-only">
              Kind
            </th>
            <th scope="col" class="wide-only">
              Started
            </th>
            <th scope="col" class="number">
              Ringing
            </th>
            <th scope="col" class="number">
              Talking
            </th>
            <th scope="col">Result</th>
          </tr>
        </thead>
        <tbody>
          {stages.map((stage) => (
            <StageRow key={stage.id} stage={stage} isCurrent={current.has(stage.id)} />
          ))}
        </tbody>
      </table>
    </section>
  )
}

function StageRow({ stage, isCurrent }: { stage: Stage; isCurrent: boolean }) {
  return (
    <tr class={isCurrent ? 'current' : undefined} aria-current={isCurrent ? 'time' : undefined}>
      <td class={stage.parent_id === null ? '' : 'nested'}>
        <b>{stage.target ?? 'unknown'}</b>
        {stage.name === null || stage.name === stage.target ? null : <span class="muted"> {stage.name}</span>}
      </td>
      <td class="wide-only">
        {stage.kind}
        {stage.attempt > 1 ? <span class="muted"> · attempt {stage.attempt}</span> : null}
      </td>
      <td class="wide-only">
        <Time at={stage.started_at} />
      </td>
      <td class="number">{formatStopwatch(stage.ring_duration)}</td>
      <td class="number">{formatStopwatch(stage.talk_duration)}</td>
      <td>
        {stage.result === null ? 'not ended' : humanize(stage.result)}
        {stage.forwarded_to === null ? null : <span class="muted"> to {stage.forwarded_to}</span>}
      </td>
    </tr>
  )
}
