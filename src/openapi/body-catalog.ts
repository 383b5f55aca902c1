import { PRESET_NAMES, type PresetName, presetOf } from '../webhooks/options/body-presets.ts'
import { type CatalogPart, catalogHtml, escaped } from './catalog-page.ts'
import { EXAMPLES } from './examples.ts'

const LEAD = `The option <code>body</code> of a webhook replaces the <a href="/docs/events">default body</a> by one of these
presets, or by a template of your own in Liquid. Each example is what the preset makes of the event
<code>dial_answered</code> of <a href="/docs/events#dial_answered">the event catalog</a>; the page shows the other events as a
preview, and so does <code>hookswitch webhook preview URL --event KIND</code>.`

const EVENT = 'dial_answered'
/** Of the parameters that a preset needs. */
const EXAMPLE_PARAMETERS: Readonly<Record<string, string>> = { chat_id: '-1001234567890' }

/** Returns the page that shows what each preset makes of an event. */
export const bodyCatalogPage = (): string => catalogHtml('Request bodies', LEAD, PRESET_NAMES.map(partOf))

/** Returns the options that choose a preset, and the body that it makes of one event. */
export function presetExample(name: PresetName): { body: object; contentType: string; text: string } {
  const { contentType, parameters, render } = presetOf(name)
  const given = Object.fromEntries(Object.keys(parameters).map((key) => [key, EXAMPLE_PARAMETERS[key] ?? '']))
  const example = EXAMPLES.find(({ data }) => data.name === EVENT)
  const text = example === undefined ? '' : render(example, given)
  const body = { preset: name, ...(Object.keys(given).length === 0 ? {} : { parameters: given }) }
  return { body, contentType, text }
}

function partOf(name: PresetName): CatalogPart {
  const { summary, documentation } = presetOf(name)
  const { body, contentType, text } = presetExample(name)
  const source = documentation === undefined ? '' : ` As documented at <a href="${documentation}">${documentation}</a>.`
  return {
    name,
    explanation: `${escaped(summary)}. <code>${escaped(contentType)}</code>, chosen by <code>"body": ${escaped(JSON.stringify(body))}</code>.${source}`,
    shown: [{ label: `A body of the preset ${name}`, text: readable(contentType, text) }],
  }
}

/** Returns JSON with line breaks; anything else as it is. */
const readable = (contentType: string, text: string): string =>
  contentType.includes('json') ? JSON.stringify(JSON.parse(text), null, 2) : text
