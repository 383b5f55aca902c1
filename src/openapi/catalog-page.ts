/** One part of a catalog: its name, an explanation, and texts that are shown verbatim. */
export type CatalogPart = {
  readonly name: string
  /** Markup. */
  readonly explanation: string
  readonly shown: readonly { readonly label: string; readonly text: string }[]
}

/** The style of the catalogs, in light and dark. */
export const CATALOG_STYLE = `:root { color-scheme: light dark }
body { margin: 0; background: light-dark(#f5f4f0, #121419); color: light-dark(#1a1c20, #eceae5);
  font: 15px/1.55 Inter, ui-sans-serif, system-ui, sans-serif }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem }
a { color: light-dark(#2b45d4, #9fb0ff) }
h2 { margin-top: 2.5rem; font: 650 1.1rem ui-monospace, monospace }
pre { overflow: auto; max-height: 32rem; padding: 1rem; border: 1px solid light-dark(#e1ded6, #2b303a); border-radius: 10px;
  background: light-dark(#fff, #1a1d24); font-size: 12.5px }
.wrapped { white-space: pre-wrap; overflow-wrap: anywhere }
nav ul { display: flex; flex-wrap: wrap; gap: .4rem 1.2rem; padding: 0; list-style: none }
`

/** Escapes a text for HTML. */
export const escapedHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** Returns a page of parts with links to them, which needs no script. */
export function catalogHtml(title: string, lead: string, parts: readonly CatalogPart[]): string {
  const links = parts.map(({ name }) => `<li><a href="#${name}">${name}</a></li>`).join('')
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapedHtml(title)} · Hookswitch</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/catalog.css">
<main>
<p><a href="/docs">Hookswitch API</a></p>
<h1>${escapedHtml(title)}</h1>
<p>${lead}</p>
<nav aria-label="Contents"><ul>${links}</ul></nav>
${parts.map(sectionOf).join('\n')}
</main>
</html>
`
}

function sectionOf({ name, explanation, shown }: CatalogPart): string {
  const texts = shown.map(
    ({ label, text }) =>
      `<pre tabindex="0" class="wrapped" aria-label="${escapedHtml(label)}"><code>${escapedHtml(text)}</code></pre>`,
  )
  return `<section id="${name}"><h2>${name}</h2><p>${explanation}</p>
${texts.join('\n')}</section>`
}
