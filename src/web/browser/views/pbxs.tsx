import { serverNowMs } from '../lib/clock.ts'
import { span } from '../lib/format.ts'
import type { PbxStatus } from '../lib/resources.ts'

/** Each PBX in a word: its name, its state, and what is wrong with it. */
export function Pbxs({ pbxs }: { pbxs: readonly PbxStatus[] }) {
  if (pbxs.length === 0) return <p class="soft">no PBX</p>
  return (
    <ul class="pbxs" aria-label="PBXs">
      {pbxs.map((pbx) => (
        <li key={pbx.name} class={`pbx ${pbx.state}`} title={pbx.detail ?? ''}>
          <i class="dot" aria-hidden="true" />
          <b>{pbx.name}</b>
          <span class="soft">{pbx.kind}</span>
          {pbx.state === 'up' ? (
            <span class="hidden">is up</span>
          ) : (
            <span class="pbx-trouble">
              {pbx.state}
              {pbx.since === null ? '' : ` for ${span(serverNowMs() - Date.parse(pbx.since))}`}
              {pbx.detail === null ? '' : `: ${pbx.detail}`}
            </span>
          )}
        </li>
      ))}
    </ul>
  )
}
