import { EVENT_KINDS, EVENT_NAMES, type EventKind } from '../lib/event-kinds.ts'
import { EXAMPLES } from './examples.ts'

/** The style of the event catalog, in light and dark. */
export const CATALOG_STYLE = `:root { color-scheme: light dark }
body { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; font: 16px/1.55 system-ui, sans-serif }
h2 { margin-top: 2.5rem; font-family: ui-monospace, monospace; font-size: 1.15rem }
pre { overflow: auto; max-height: 32rem; padding: 1rem; border: 1px solid #8886; border-radius: 8px; font-size: 13px }
nav ul { display: flex; flex-wrap: wrap; gap: .4rem 1.2rem; padding: 0; list-style: none }
`

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** Returns the page that shows every kind of event with one whole body. */
export function catalogPage(): string {
  const links = EVENT_NAMES.map((name) => `<li><a href="#${name}">${name}</a></li>`).join('')
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Call events of Hookswitch</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/events.css">
<main>
<h1>Call events</h1>
<p>Every webhook request has one of these bodies: <code>time</code> and <code>data</code>. Keys never disappear: an
unknown value is <code>null</code>. All fields are described in the <a href="/docs">API reference</a>.</p>
<nav aria-label="Events"><ul>${links}</ul></nav>
${EVENT_NAMES.map(section).join('\n')}
</main>
</html>
`
}

function section(name: EventKind): string {
  const { obeys, summary } = EVENT_KINDS[name]
  const how =
    obeys === null
      ? 'A webhook asks for it in the <code>events</code> of its options.'
      : `The switch <code>${obeys}</code> of a webhook turns it on.`
  const body = EXAMPLES.find(({ data }) => data.name === name)
  const json = escaped(JSON.stringify(body, null, 2))
  return `<section id="${name}"><h2>${name}</h2><p>${escaped(summary)}. ${how}</p>
<pre tabindex="0" aria-label="A body of ${name}"><code>${json}</code></pre></section>`
}
