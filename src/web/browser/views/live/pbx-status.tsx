import { PBX_FACTS } from '../../../../lib/pbx-kinds.ts'
import { formatDuration } from '../../../../lib/time.ts'
import { ErrorMessage } from '../../components/error-message.tsx'
import { pluralize } from '../../lib/format.ts'
import type { PbxStatus } from '../../lib/resources.ts'
import { serverNowMs } from '../../lib/server-clock.ts'

/** More would push the calls off the screen. */
const MAX_LISTED = 8
const MAX_ERRORS = 3

/** Shows the name and the state of each PBX in a few words, the disconnected ones first. */
export function PbxStatusList({ pbxs }: { pbxs: readonly PbxStatus[] }) {
  if (pbxs.length === 0) return <p class="muted">no PBX</p>
  const sorted = pbxs.toSorted((one, other) => Number(one.state === 'up') - Number(other.state === 'up'))
  return (
    <ul class="pbxs" aria-label="PBXs">
      {sorted.slice(0, MAX_LISTED).map(({ name, kind, state }) => (
        <li key={name} class={`pbx ${state}`}>
          <i class="dot" aria-hidden="true" />
          <b>{name}</b>
          <span class="muted">{PBX_FACTS[kind].title}</span>
          <span class={state === 'up' ? 'visually-hidden' : 'pbx-state'}>{state}</span>
        </li>
      ))}
      {pbxs.length > MAX_LISTED ? (
        <li class="muted">and {pluralize(pbxs.length - MAX_LISTED, 'more PBX', 'more PBXs')}</li>
      ) : null}
    </ul>
  )
}

/** Shows the reason for each PBX that is not connected. */
export function PbxErrors({ pbxs }: { pbxs: readonly PbxStatus[] }) {
  const failed = pbxs.filter(({ state }) => state === 'down' || state === 'refused')
  return (
    <>
      {failed.slice(0, MAX_ERRORS).map((pbx) => (
        <ErrorMessage key={pbx.name} text={describeError(pbx)} />
      ))}
      {failed.length > MAX_ERRORS ? (
        <ErrorMessage
          text={`${pluralize(failed.length - MAX_ERRORS, 'more PBX is', 'more PBXs are')} not connected.`}
        />
      ) : null}
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
