import type { TemplateRenderer } from '../../templates/templates.ts'
import { createStepRenderer } from '../step-renderer.ts'
import { isOwnHost, joinStepUrl } from '../step-url.ts'
import type { LoginRenderer } from './authorizer.ts'
import { MAX_TOKEN_ANSWER_BYTES } from './token-exchange.ts'

/** A log-in belongs to no event. */
const NO_EVENT = '{"data":{}}'

/**
 * Creates the renderer of log-ins. The templates of the request have `parameters`, the template of the header has
 * `token`.
 */
export function createLoginRenderer(templates: TemplateRenderer): LoginRenderer {
  return {
    async request({ accountId, url, origins, parameters, tls }, { request }) {
      const steps = createStepRenderer(templates, { accountId, purpose: 'sending' })
      const rendered = await steps.request(request, { body: NO_EVENT, kept: {}, merged: [], parameters })
      if ('problem' in rendered) return rendered
      if ('skipped' in rendered) return { problem: 'its `if` is empty or `false`' }
      const joined = joinStepUrl(url, rendered.request.url, origins)
      if ('problem' in joined) return joined
      const { headers, body } = rendered.request
      const type = body === null ? {} : { 'content-type': request.content_type }
      return {
        request: {
          url: joined.url,
          method: request.method,
          headers: { accept: 'application/json', ...lowerCased(headers), ...type },
          body,
          tls: isOwnHost(joined.url, url) ? tls : undefined,
          maxAnswerBytes: MAX_TOKEN_ANSWER_BYTES,
        },
      }
    },

    async header({ accountId }, { header }, token) {
      const { value } = await templates.render({
        accountId,
        purpose: 'sending',
        templates: { value: { text: header, escaping: 'header' } },
        data: JSON.stringify({ token }),
      })
      return 'problem' in value ? { problem: value.problem } : { header: value.text }
    },
  }
}

const lowerCased = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
