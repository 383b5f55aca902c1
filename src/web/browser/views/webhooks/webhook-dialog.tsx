import type { ComponentChildren } from 'preact'
import { Dialog } from '../../components/dialog.tsx'
import { Loading } from '../../components/empty-state.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { WebhookLabel } from '../../components/webhook-label.tsx'

type WebhookDialogProps = {
  title: string
  /** `null`: the webhook has no URL yet. */
  url: string | null
  error?: string | null
  /** The name of the data that is being loaded; `null` once it is there. */
  loading?: string | null
  onClose: () => void
  children: ComponentChildren
}

/** Shows a dialog about one webhook, with its URL and the last error above the content. */
export function WebhookDialog({ title, url, error = null, loading = null, onClose, children }: WebhookDialogProps) {
  return (
    <Dialog title={title} onClose={onClose} wide>
      {url === null ? null : (
        <p class="dialog-url">
          <WebhookLabel url={url} whole />
        </p>
      )}
      {error === null ? null : <ErrorMessage text={error} />}
      {loading === null || error !== null ? null : <Loading what={loading} />}
      {children}
    </Dialog>
  )
}
