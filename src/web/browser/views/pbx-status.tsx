import { formatDuration } from '../lib/format.ts'
import type { PbxStatus } from '../lib/resources.ts'
import { serverNowMs } from '../lib/server-clock.ts'

/** Shows the name and the state of each PBX, and the error of one that is not connected. */
export function PbxStatusList({ pbxs }: { pbxs: readonly PbxStatus[] }) {
  if (pbxs.length === 0) return <p class="muted">no PBX</p>
  return (
    <ul class="pbxs" aria-label="PBXs">
      {pbxs.map((pbx) => (
        <li key={pbx.name} class={`pbx ${pbx.state}`} title={pbx.detail ?? ''}>
          <i class="dot" aria-hidden="true" />
          <b>{pbx.name}</b>
          <span class="muted">{pbx.kind}</span>
          {pbx.state === 'up' ? <span class="visually-hidden">is up</span> : <PbxError pbx={pbx} />}
        </li>
      ))}
    </ul>
  )
}

function PbxError({ pbx: { state, since, detail } }: { pbx: PbxStatus }) {
  return (
    <span class="pbx-error">
      {state}
      {since === null ? '' : ` for ${formatDuration(serverNowMs() - Date.parse(since))}`}
      {detail === null ? '' : `: ${detail}`}
    </span>
  )
}
