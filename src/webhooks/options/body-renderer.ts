import { readSentBody } from '../../events/stored-json.ts'
import type { BodyOption } from '../../store/operations/webhooks.ts'
import type { Rendering, RenderRequest, TemplateRenderer } from '../../templates/templates.ts'
import { bodyPresetOf, type PresetName } from './body-presets.ts'

/** A rendered body, or why rendering failed. An empty body is not sent. */
export type RenderedBody = { readonly contentType: string } & Rendering
/** Renders the body of a webhook from the default body. */
export type BodyRenderer = (defaultBody: string) => RenderedBody | Promise<RenderedBody>

/** Renders the templates of one account. */
export type AccountTemplates = Pick<RenderRequest<string>, 'accountId' | 'purpose'> & {
  readonly templates: TemplateRenderer
}

/**
 * Creates the function that renders the bodies of a webhook. Presets are code of this program, rendered at once in 5 to
 * 30 µs; templates are written by strangers, and rendered in a thread of their own.
 */
export function createBodyRenderer(
  body: BodyOption,
  { templates, accountId, purpose }: AccountTemplates,
): BodyRenderer {
  if ('preset' in body) {
    const { contentType, render } = bodyPresetOf(body.preset as PresetName)
    return (defaultBody) => ({ contentType, text: render(readSentBody(defaultBody), body.parameters) })
  }
  const { contentType, template: text } = body
  const isJson = isJsonType(contentType)
  return async (data) => {
    const rendered = await templates.render({ accountId, purpose, templates: { body: { text, isJson } }, data })
    return { contentType, ...rendered.body }
  }
}

const isJsonType = (contentType: string): boolean => /^application\/([\w.-]+\+)?json\b/i.test(contentType)
