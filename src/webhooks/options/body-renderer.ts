import type { BodyOption } from '../../store/operations/webhooks.ts'
import type { Rendering, RenderRequest, TemplateRenderer } from '../templates/renderer.ts'
import { type PresetName, presetOf } from './body-presets.ts'
import { viewOf } from './event-view.ts'

/** A body as it goes out, or why there is none. An empty one is not sent. */
export type RenderedBody = { readonly contentType: string } & Rendering
/** Makes the body that a webhook wants of a default body. */
export type BodyRenderer = (defaultBody: string) => RenderedBody | Promise<RenderedBody>

/** Renders the templates of one account. */
export type AccountTemplates = Pick<RenderRequest<string>, 'accountId' | 'purpose'> & {
  readonly templates: TemplateRenderer
}

/**
 * Creates what turns default bodies into those that a webhook wants. Presets are text of this program, so they are
 * rendered at once, in 5 to 30 µs; a template is a stranger's and is rendered by the thread for that.
 */
export function createBodyRenderer(
  body: BodyOption,
  { templates, accountId, purpose }: AccountTemplates,
  { mustBeJson = false } = {},
): BodyRenderer {
  if ('preset' in body) {
    const { contentType, render } = presetOf(body.preset as PresetName)
    return (defaultBody) => ({ contentType, text: render(viewOf(defaultBody), body.parameters) })
  }
  const { contentType, template: text } = body
  const isJson = mustBeJson && isJsonType(contentType)
  return async (data) => {
    const rendered = await templates.render({ accountId, purpose, templates: { body: { text, isJson } }, data })
    return { contentType, ...rendered.body }
  }
}

const isJsonType = (contentType: string): boolean => /^application\/([\w.-]+\+)?json\b/i.test(contentType)
