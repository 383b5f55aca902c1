import type { NowUs } from '../../lib/time.ts'
import { SECOND } from '../../lib/time.ts'
import type { BodyOption } from '../../store/operations/webhooks.ts'
import { type PresetName, presetOf } from './body-presets.ts'
import { type BodyTemplate, parseTemplate, TemplateError } from './body-template.ts'
import { viewOf } from './event-view.ts'

/** A body as it goes out. An empty one is not sent. */
export type Rendered = { readonly contentType: string; readonly text: string }
export type Renderer = (defaultBody: string) => Rendered

/**
 * After so many renderings in a row that took too long, a template is left alone for a while: it would take time from
 * everybody else.
 */
const MAX_SLOW = 3
const REST_US = 60 * SECOND

/**
 * Makes what turns default bodies into those that a webhook wants.
 * @throws TemplateError when the template cannot be read; the renderer throws one when it cannot be rendered.
 */
export function createRenderer(body: BodyOption, steadyUs: NowUs): Renderer {
  if ('preset' in body) {
    const { contentType, render } = presetOf(body.preset as PresetName)
    return (defaultBody) => ({ contentType, text: render(viewOf(defaultBody), body.parameters) })
  }
  const { contentType } = body
  const render = guarded(parseTemplate(body.template), steadyUs)
  return (defaultBody) => ({ contentType, text: render(viewOf(defaultBody)) })
}

function guarded(template: BodyTemplate, steadyUs: NowUs): BodyTemplate {
  let slow = 0
  let restUntilUs = Number.NEGATIVE_INFINITY
  return (data) => {
    if (steadyUs() < restUntilUs)
      throw new TemplateError('took too long several times: it is tried again after a minute')
    try {
      const text = template(data)
      slow = 0
      return text.trim() === '' ? '' : text
    } catch (error) {
      slow = error instanceof TemplateError && error.isSlow ? slow + 1 : 0
      if (slow >= MAX_SLOW) restUntilUs = steadyUs() + REST_US
      throw error
    }
  }
}
