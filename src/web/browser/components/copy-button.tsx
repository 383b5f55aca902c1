import { useState } from 'preact/hooks'
import { Icon } from './icon.tsx'
import { showToast } from './toast.tsx'

const CONFIRMED_MS = 1_500

/**
 * Copies a text to the clipboard. Browsers forbid that on plain http from another host: the button then shows that, and
 * the text can still be selected.
 */
export function CopyButton({ text, label, small = false }: { text: string; label: string; small?: boolean }) {
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setCopied(true)
      setTimeout(() => setCopied(false), CONFIRMED_MS)
    } catch {
      showToast('bad', 'The browser did not allow copying. Select the text and copy it by hand.')
    }
  }
  return (
    <button type="button" class={small ? 'ghost icon-only' : ''} onClick={copy} aria-label={`Copy ${label}`}>
      <Icon name={copied ? 'check' : 'copy'} />
      {small ? null : <span aria-hidden="true">{copied ? 'Copied' : 'Copy'}</span>}
    </button>
  )
}
