import { INVALID } from '../../http/validation.ts'
import { Fault, type FieldError } from '../../lib/fault.ts'
import { nextTurn } from '../../lib/slices.ts'
import { MILLISECOND, steadyUs as monotonicUs, type NowUs, nowUs as wallUs } from '../../lib/time.ts'
import type { BodyOption, WebhookOptionsRecord } from '../../store/operations/webhooks.ts'
import type { Store } from '../../store/store.ts'
import { DEFAULT_OPTIONS } from '../../store/webhook-options.ts'
import { createRenderer, type Rendered } from './body-renderer.ts'
import { processorUs, TemplateError } from './body-template.ts'
import type { NewWebhookOptions, Preview, PreviewRequest, WebhookBody, WebhookOptions } from './model.ts'
import { pointerTo } from './rules.ts'

export type OptionsService = ReturnType<typeof createOptionsService>

type Dependencies = {
  readonly webhooks: Store['webhooks']
  /** A default body of each kind of event. */
  readonly samples: ReadonlyMap<string, string>
  /** Called after every change. */
  readonly onChanged?: () => void
  readonly steadyUs?: NowUs
  readonly nowUs?: NowUs
}

/** Of the processor: an account that tries templates must not slow down the others. */
const MAX_PROOF_US = 100 * MILLISECOND
const JSON_TYPE = 'application/json'
const DEFAULT_EVENT = 'call_started'

/** Creates the service for the options of the URLs of an account. */
export function createOptionsService({
  webhooks,
  samples,
  onChanged = () => {},
  steadyUs = monotonicUs,
  nowUs = wallUs,
}: Dependencies) {
  /** @throws Fault 422 when the body cannot be rendered with one of the samples, or is no JSON and should be. */
  async function prove(body: BodyOption | null): Promise<void> {
    const problem = body === null ? undefined : await templateProblem(body)
    if (problem !== undefined) throw invalid([{ path: '/body/template', message: problem }])
  }

  /** Others wait for one rendering at most. */
  async function templateProblem(body: BodyOption): Promise<string | undefined> {
    try {
      const render = createRenderer(body, steadyUs)
      let tookUs = 0
      for (const [event, sample] of samples) {
        const startedUs = processorUs()
        const { contentType, text } = render(sample)
        tookUs += processorUs() - startedUs
        if (isJson(contentType) && text !== '' && !isParsable(text))
          return `gives no JSON for ${event}, which its content type promises`
        if (tookUs > MAX_PROOF_US) return 'takes too long for all kinds of event together'
        await nextTurn()
      }
      return undefined
    } catch (error) {
      if (error instanceof TemplateError) return error.message
      throw error
    }
  }

  return {
    /** Returns the options of each URL of the list, in its order. */
    async list(accountId: number): Promise<WebhookOptions[]> {
      const listed = await webhooks.optionsList(accountId)
      return listed.map(({ url, options }) => shown(url, options ?? DEFAULT_OPTIONS))
    },

    /** Replaces the options of a URL. @throws Fault 422 when it is not in the list, or its template does not work. */
    async replace(accountId: number, sent: NewWebhookOptions): Promise<WebhookOptions> {
      const { url } = sent
      const options = recordOf(sent)
      await prove(options.body)
      const replaced = await webhooks.optionsReplace({ accountId, url, options, nowUs: nowUs() })
      if (replaced === 'unlisted') throw invalid([{ path: '/url', message: 'is not in the list' }])
      if ('unknownHeaders' in replaced)
        throw invalid(
          replaced.unknownHeaders.map((name) => ({
            path: pointerTo(name),
            message: 'has no stored value that null could keep',
          })),
        )
      onChanged()
      return shown(url, replaced)
    },

    /** Returns what a receiver would get of an event. @throws Fault 422 when the template does not work. */
    async preview({ event = DEFAULT_EVENT, body = null }: PreviewRequest): Promise<Preview> {
      const sample = samples.get(event)
      if (sample === undefined) throw invalid([{ path: '/event', message: 'has no sample' }])
      const option = bodyOf(body)
      await prove(option)
      const { contentType, text } = option === null ? defaultBody(sample) : createRenderer(option, steadyUs)(sample)
      return { content_type: contentType, body: text }
    },
  }
}

const defaultBody = (text: string): Rendered => ({ contentType: JSON_TYPE, text })
const isJson = (contentType: string): boolean => /^application\/([\w.-]+\+)?json\b/i.test(contentType)
const invalid = (errors: readonly FieldError[]): Fault => new Fault('invalid', INVALID, { errors })

function isParsable(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

type Sent = Parameters<Store['webhooks']['optionsReplace']>[0]['options']

/** The given options, with defaults for the others. */
function recordOf(sent: NewWebhookOptions): Sent {
  const { filter = null, body = null } = sent
  return {
    name: sent.name ?? null,
    paused: sent.paused ?? false,
    filter: filter === null || Object.keys(filter).length === 0 ? null : filter,
    headers: sent.headers ?? {},
    order: sent.order ?? 'first_attempt',
    maxPerSecond: sent.max_per_second ?? null,
    body: bodyOf(body),
    events: sent.events ?? [],
  }
}

function bodyOf(body: WebhookBody | null): BodyOption | null {
  if (body === null) return null
  const { preset, parameters = {}, template = '', content_type: contentType = JSON_TYPE } = body
  return preset === undefined ? { template, contentType } : { preset, parameters }
}

function shown(url: string, options: WebhookOptionsRecord): WebhookOptions {
  const { maxPerSecond, headers, body, filter, events, resumedSteadyUs: _, ...rest } = options
  return {
    url,
    ...rest,
    filter: filter as WebhookOptions['filter'],
    headers: Object.fromEntries(Object.keys(headers).map((name) => [name, null])),
    max_per_second: maxPerSecond,
    body: body === null ? null : shownBody(body),
    events: [...events] as WebhookOptions['events'],
  }
}

function shownBody(body: BodyOption): WebhookBody {
  if ('template' in body) return { template: body.template, content_type: body.contentType }
  const { preset, parameters } = body
  return { preset: preset as NonNullable<WebhookBody['preset']>, parameters: { ...parameters } }
}
