import type { ComponentChildren } from 'preact'
import { CopyButton } from './copy-button.tsx'

type CodeBlockProps = {
  readonly text: string
  readonly label: string
  /** The caption: a file, a size. Without one the copy button is inside. */
  readonly head?: ComponentChildren
}

/** Shows a text as it is, with a button to copy it. A long one scrolls inside; JSON has colours. */
export function CodeBlock({ text, label, head }: CodeBlockProps) {
  const content = (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard
    <section tabIndex={0} aria-label={label}>
      <pre>
        <code>{JSON_START.test(text) && text.length <= MAX_COLOURED ? colouredJson(text) : text}</code>
      </pre>
    </section>
  )
  if (head === undefined)
    return (
      <div class="code line">
        {content}
        <CopyButton text={text} label={label} small />
      </div>
    )
  return (
    <div class="code">
      <div class="code-head">
        {head}
        <span class="push" />
        <CopyButton text={text} label={label} small />
      </div>
      {content}
    </div>
  )
}

/** A section of a configuration file begins with a bracket, too: a letter follows it. */
const JSON_START = /^\s*(?:\{|\[\s*["{[\]\d-])/

/** A larger text is shown without colours: each coloured word is an element. */
const MAX_COLOURED = 30_000

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\b(?:true|false|null)\b/g

function colouredJson(text: string): ComponentChildren[] {
  const parts: ComponentChildren[] = []
  let end = 0
  for (const { 0: whole, 1: string, 2: colon, index } of text.matchAll(TOKEN)) {
    parts.push(text.slice(end, index))
    const kind = string === undefined ? 'n' : colon === undefined ? 's' : 'k'
    parts.push(<span class={kind}>{string ?? whole}</span>)
    if (colon !== undefined) parts.push(colon)
    end = index + whole.length
  }
  parts.push(text.slice(end))
  return parts
}
