import { useState } from 'preact/hooks'
import { Icon } from './icon.tsx'
import { showToast } from './toast.tsx'

const CONFIRMED_MS = 2_000

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
    <button
      type="button"
      class={small ? 'button quiet small only' : 'button'}
      onClick={copy}
      aria-label={copied ? 'Copied' : `Copy ${label}`}
    >
      <Icon name={copied ? 'check' : 'copy'} />
      {small ? null : <span aria-hidden="true">{copied ? 'Copied' : 'Copy'}</span>}
    </button>
  )
}

/** Shows an id or another short text with a button that copies it. */
export function Copyable({ text, label }: { text: string; label: string }) {
  return (
    <span class="copyable">
      <code class="cut" title={text}>
        {text}
      </code>
      <CopyButton text={text} label={label} small />
    </span>
  )
}
