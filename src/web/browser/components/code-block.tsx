import { CopyButton } from './copy-button.tsx'

/** Shows a text as it is, with a button to copy it. A long one scrolls inside. */
export function CodeBlock({ text, label }: { text: string; label: string }) {
  return (
    <div class="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard */}
      <section tabIndex={0} aria-label={label}>
        <pre>
          <code>{text}</code>
        </pre>
      </section>
      <CopyButton text={text} label={label} small />
    </div>
  )
}
