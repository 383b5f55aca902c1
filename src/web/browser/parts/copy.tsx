import { useState } from 'preact/hooks'
import { Icon } from './icon.tsx'
import { say } from './toast.tsx'

/** Copies a text. Without the clipboard's API (plain http on another host) it says so, and the text can be selected. */
export function CopyButton({ text, what, small = false }: { text: string; what: string; small?: boolean }) {
  const [done, setDone] = useState(false)
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setDone(true)
      setTimeout(() => setDone(false), 1_500)
    } catch {
      say('bad', 'The browser did not allow copying. Select the text and copy it by hand.')
    }
  }
  return (
    <button type="button" class={small ? 'ghost icon-only' : ''} onClick={copy} aria-label={`Copy ${what}`}>
      <Icon name={done ? 'check' : 'copy'} />
      {small ? null : <span aria-hidden="true">{done ? 'Copied' : 'Copy'}</span>}
    </button>
  )
}

/** A block of text as it is, to be read and copied. Long ones scroll inside. */
export function CodeBlock({ text, what }: { text: string; what: string }) {
  return (
    <div class="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard */}
      <section tabIndex={0} aria-label={what}>
        <pre>
          <code>{text}</code>
        </pre>
      </section>
      <CopyButton text={text} what={what} small />
    </div>
  )
}
