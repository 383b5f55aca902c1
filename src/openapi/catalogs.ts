import { EVENT_KINDS, EVENT_NAMES, type EventKind } from '../events/kinds.ts'
import { ALL_EXAMPLES, EXAMPLES } from '../events/samples.ts'
import { bodyPresetOf, PRESET_NAMES, type PresetName } from '../webhooks/webhooks.ts'
import { type CatalogPart, catalogHtml, escapedHtml } from './catalog-page.ts'

const EVENTS_LEAD = `Every webhook request has one of these bodies: <code>time</code> and <code>data</code>. Keys never disappear: an
unknown value is <code>null</code>. All fields are described in the <a href="/docs">API reference</a>. With options a
webhook gets <a href="/docs/bodies">another body</a>.`

export const eventCatalogPage = (): string => catalogHtml('Call events', EVENTS_LEAD, EVENT_NAMES.map(eventPart))

function eventPart(name: EventKind): CatalogPart {
  const { obeys, summary } = EVENT_KINDS[name]
  const how =
    obeys === null
      ? 'A webhook asks for it in the <code>events</code> of its options.'
      : `The switch <code>${obeys}</code> of a webhook turns it on.`
  const body = ALL_EXAMPLES.find(({ data }) => data.name === name)
  const text = JSON.stringify(body, null, 2)
  return { name, explanation: `${escapedHtml(summary)}. ${how}`, shown: [{ label: `A body of ${name}`, text }] }
}

const BODIES_LEAD = `The option <code>body</code> of a webhook replaces the <a href="/docs/events">default body</a> by one of these
presets, or by a template of your own in Liquid. Each example is what the preset makes of the event
<code>dial_answered</code> of <a href="/docs/events#dial_answered">the event catalog</a>; the page shows the other events as a
preview, and so does <code>hookswitch webhook preview URL --event KIND</code>.`

const EVENT = 'dial_answered'
/** Example values for the parameters of presets. */
const EXAMPLE_PARAMETERS: Readonly<Record<string, string>> = { chat_id: '-1001234567890' }

/** Returns the page that shows what each preset makes of an event. */
export const bodyCatalogPage = (): string => catalogHtml('Request bodies', BODIES_LEAD, PRESET_NAMES.map(presetPart))

/** Returns the options that choose a preset, and the body that it makes of one event. */
function presetExample(name: PresetName): { body: object; contentType: string; text: string } {
  const { contentType, parameters, render } = bodyPresetOf(name)
  const given = Object.fromEntries(Object.keys(parameters).map((key) => [key, EXAMPLE_PARAMETERS[key] ?? '']))
  const example = EXAMPLES.find(({ data }) => data.name === EVENT)
  const text = example === undefined ? '' : render(example, given)
  const body = { preset: name, ...(Object.keys(given).length === 0 ? {} : { parameters: given }) }
  return { body, contentType, text }
}

function presetPart(name: PresetName): CatalogPart {
  const { summary, documentation } = bodyPresetOf(name)
  const { body, contentType, text } = presetExample(name)
  const source = documentation === undefined ? '' : ` As documented at <a href="${documentation}">${documentation}</a>.`
  return {
    name,
    explanation: `${escapedHtml(summary)}. <code>${escapedHtml(contentType)}</code>, chosen by <code>"body": ${escapedHtml(JSON.stringify(body))}</code>.${source}`,
    shown: [{ label: `A body of the preset ${name}`, text: readable(contentType, text) }],
  }
}

/** Returns JSON with line breaks; anything else as it is. */
const readable = (contentType: string, text: string): string =>
  contentType.includes('json') ? JSON.stringify(JSON.parse(text), null, 2) : text
