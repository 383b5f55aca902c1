import { useEffect, useState } from 'preact/hooks'
import { CopyButton } from '../../components/copy-button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { Icon } from '../../components/icon.tsx'
import { Time } from '../../components/time.tsx'
import { showToast } from '../../components/toast.tsx'
import { request } from '../../lib/api.ts'
import type { WebhookSecret } from '../../lib/resources.ts'
import { ExampleReceiver } from './example-receiver.tsx'
import { WebhookDialog } from './webhook-dialog.tsx'

const MASKED = `whsec_${'•'.repeat(24)}`

/**
 * Shows and rotates the secret that signs the requests to one URL, and how a receiver verifies them with a ready-made
 * library.
 */
export function SecretDialog({ url, onClose }: { url: string; onClose: () => void }) {
  const [secret, setSecret] = useState<WebhookSecret | null>(null)
  const [error, setError] = useState<string | null>(null)
  const [visible, setVisible] = useState(false)
  const [confirming, setConfirming] = useState(false)

  const load = async () => {
    const response = await request<WebhookSecret[]>('GET', '/integration/webhook/secret')
    if (!response.ok) return setError(response.message)
    const found = response.result.find((one) => one.url === url)
    if (found === undefined) return setError('This URL is no longer in the saved list.')
    setSecret(found)
  }
  useEffect(() => void load(), [])
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
    <WebhookDialog
      title="Signing secret"
      url={url}
      error={error}
      loading={secret === null ? 'the secret' : null}
      onClose={onClose}
    >
      {secret === null ? null : (
        <>
          <div class="secret">
            <output class="secret-text">{visible ? secret.secret : MASKED}</output>
            <button type="button" onClick={() => setVisible(!visible)} aria-pressed={visible}>
              <Icon name="eye" /> {visible ? 'Hide' : 'Show'}
            </button>
            <CopyButton text={secret.secret} label="secret" />
            <button type="button" onClick={() => setConfirming(true)}>
              <Icon name="retry" /> Rotate
            </button>
          </div>
          {secret.previous_until === null ? null : (
            <p class="notice">
              <span>
                The previous secret also signs until <Time at={secret.previous_until} day />. Give the receiver the new
                one before then.
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
              ? 'This URL gets a new secret. For 24 hours both secrets sign each request, so nothing is lost if the receiver gets the new secret within that time.'
              : 'The previous secret still signs too. If you rotate again now, it ends at once: a receiver that only has the previous secret then refuses every request.'
          }
          action="Rotate"
          onConfirm={rotate}
          onClose={() => setConfirming(false)}
        />
      ) : null}
    </WebhookDialog>
  )
}
