import { useState } from 'preact/hooks'
import { CopyButton } from '../../components/copy-button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { Fold } from '../../components/fold.tsx'
import { Icon } from '../../components/icon.tsx'
import { Time } from '../../components/time.tsx'
import { showToast } from '../../components/toast.tsx'
import { request } from '../../lib/api.ts'
import type { WebhookSecret } from '../../lib/resources.ts'
import { ExampleReceiver } from './example-receiver.tsx'

const MASKED = `whsec_${'•'.repeat(24)}`

/**
 * Shows and rotates the secret that signs the requests to one URL, and how a receiver verifies them with a ready-made
 * library. The secret is read when the fold is opened.
 */
export function SecretFold({ url }: { url: string }) {
  const [secret, setSecret] = useState<WebhookSecret | null>(null)
  const [error, setError] = useState<string | null>(null)
  const [visible, setVisible] = useState(false)
  const [confirming, setConfirming] = useState(false)
  const load = async () => {
    if (secret !== null) return
    const response = await request<WebhookSecret[]>('GET', '/integration/webhook/secret')
    if (!response.ok) return setError(response.message)
    const found = response.result.find((one) => one.url === url)
    if (found === undefined) return setError('This address is no longer in the list.')
    setSecret(found)
  }
  const rotate = async () => {
    setConfirming(false)
    // The confirmation has warned that an earlier secret still signs.
    const force = secret?.previous_until != null
    const response = await request<WebhookSecret>('POST', '/integration/webhook/secret/rotate', { url, force })
    if (!response.ok) return setError(response.message)
    setSecret(response.result)
    showToast('good', 'Requests are signed with the new secret, and for 24 hours also with the old one.')
  }
  return (
    <Fold title="Signing secret" value="each request is signed with it" onOpen={() => void load()}>
      {error === null ? null : <ErrorMessage text={error} />}
      {secret === null ? null : (
        <>
          <div class="secret">
            <output class="mono">{visible ? secret.secret : MASKED}</output>
            <button class="button" type="button" onClick={() => setVisible(!visible)} aria-pressed={visible}>
              <Icon name="eye" /> {visible ? 'Hide' : 'Show'}
            </button>
            <CopyButton text={secret.secret} label="secret" />
            <button class="button" type="button" onClick={() => setConfirming(true)}>
              <Icon name="retry" /> Rotate
            </button>
          </div>
          {secret.previous_until === null ? null : (
            <p class="note warn">
              <Icon name="clock" />
              <span>
                The previous secret also signs until <Time at={secret.previous_until} />. Give the receiver the new one
                before then.
              </span>
            </p>
          )}
          <ExampleReceiver secret={visible ? secret.secret : 'whsec_…'} />
        </>
      )}
      {confirming ? (
        <ConfirmDialog
          title="Rotate this secret?"
          text={
            secret?.previous_until == null
              ? 'This address gets a new secret. For 24 hours both secrets sign each request, so nothing is lost if the receiver gets the new secret within that time.'
              : 'The previous secret still signs too. If you rotate again now, it ends at once: a receiver that only has the previous secret then refuses every request.'
          }
          action="Rotate"
          onConfirm={rotate}
          onClose={() => setConfirming(false)}
        />
      ) : null}
    </Fold>
  )
}
