import { EVENT_KINDS, EVENT_NAMES, type EventKind } from '../lib/event-kinds.ts'
import { type CatalogPart, catalogHtml, escaped } from './catalog-page.ts'
import { EXAMPLES } from './examples.ts'

const LEAD = `Every webhook request has one of these bodies: <code>time</code> and <code>data</code>. Keys never disappear: an
unknown value is <code>null</code>. All fields are described in the <a href="/docs">API reference</a>. With options a
webhook gets <a href="/docs/bodies">another body</a>.`

/** Returns the page that shows every kind of event with one whole body. */
export const catalogPage = (): string => catalogHtml('Call events', LEAD, EVENT_NAMES.map(partOf))

function partOf(name: EventKind): CatalogPart {
  const { obeys, summary } = EVENT_KINDS[name]
  const how =
    obeys === null
      ? 'A webhook asks for it in the <code>events</code> of its options.'
      : `The switch <code>${obeys}</code> of a webhook turns it on.`
  const body = EXAMPLES.find(({ data }) => data.name === name)
  const text = JSON.stringify(body, null, 2)
  return { name, explanation: `${escaped(summary)}. ${how}`, shown: [{ label: `A body of ${name}`, text }] }
}
