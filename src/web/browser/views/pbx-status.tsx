import { ErrorMessage } from '../components/error-message.tsx'
import { formatDuration } from '../lib/format.ts'
import type { PbxStatus } from '../lib/resources.ts'
import { serverNowMs } from '../lib/server-clock.ts'

/** Shows the name and the state of each PBX in a few words. */
export function PbxStatusList({ pbxs }: { pbxs: readonly PbxStatus[] }) {
  if (pbxs.length === 0) return <p class="muted">no PBX</p>
  return (
    <ul class="pbxs" aria-label="PBXs">
      {pbxs.map(({ name, kind, state }) => (
        <li key={name} class={`pbx ${state}`}>
          <i class="dot" aria-hidden="true" />
          <b>{name}</b>
          <span class="muted">{kind}</span>
          <span class={state === 'up' ? 'visually-hidden' : 'pbx-state'}>{state}</span>
        </li>
      ))}
    </ul>
  )
}

/** Shows why a PBX is not connected, for each that is not. */
export function PbxErrors({ pbxs }: { pbxs: readonly PbxStatus[] }) {
  const failed = pbxs.filter(({ state }) => state === 'down' || state === 'refused')
  return (
    <>
      {failed.map((pbx) => (
        <ErrorMessage key={pbx.name} text={describeError(pbx)} />
      ))}
    </>
  )
}

function describeError({ name, state, since, detail }: PbxStatus): string {
  const duration = since === null ? '' : ` for ${formatDuration(serverNowMs() - Date.parse(since))}`
  const reason = detail === null ? '' : `: ${detail}`
  return state === 'refused'
    ? `PBX ${name} has refused the login${duration}${reason}.`
    : `PBX ${name} is not connected${duration}${reason}.`
}
