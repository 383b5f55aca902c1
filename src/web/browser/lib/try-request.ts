import { authorizationHeader } from './api.ts'
import { type ApiDocument, type ApiOperation, exampleOf } from './api-document.ts'
import { type Headers as CurlHeaders, quoteForShell } from './curl.ts'
import { formatJson } from './format.ts'

/** A request as its form holds it: parameters by name, and the text of the body. */
export type RequestForm = { readonly parameters: Readonly<Record<string, string>>; readonly body: string | null }

export type TriedResponse = {
  readonly status: number
  readonly durationMs: number
  readonly type: string
  readonly text: string
}

/** Returns the schema of an endpoint's request body, if it takes one. */
export const bodySchemaOf = (endpoint: ApiOperation) => endpoint.requestBody?.content['application/json']?.schema

/** Returns the first form of a request: examples of its required fields. */
export function requestFormOf(endpoint: ApiOperation, document: ApiDocument): RequestForm {
  const schema = bodySchemaOf(endpoint)
  const filled = (endpoint.parameters ?? []).filter(({ schema: own }) => own.default !== undefined)
  return {
    parameters: Object.fromEntries(filled.map(({ name, schema: own }) => [name, String(own.default)])),
    body: schema === undefined ? null : JSON.stringify(exampleOf(schema, document), null, 2),
  }
}

/** Returns the path with its parameters and query filled in. */
function pathOf(endpoint: ApiOperation, { parameters }: RequestForm): string {
  const path = endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(parameters[name] || `{${name}}`),
  )
  const query = new URLSearchParams(
    (endpoint.parameters ?? []).flatMap(({ name, in: where }) => {
      const value = parameters[name] ?? ''
      return where === 'query' && value !== '' ? [[name, value]] : []
    }),
  ).toString()
  return query === '' ? path : `${path}?${query}`
}

function headersOf(endpoint: ApiOperation, form: RequestForm): [name: string, value: string][] {
  const own = (endpoint.parameters ?? []).flatMap(({ name, in: where }): [string, string][] => {
    const value = form.parameters[name] ?? ''
    return where === 'header' && value !== '' ? [[name, value]] : []
  })
  const content: [string, string][] = form.body === null ? [] : [['content-type', 'application/json']]
  return [['accept', 'application/json'], ...content, ...own]
}

/** Returns the curl command of a request; the token is a variable, so that it is in nobody's history. */
export function curlOf(endpoint: ApiOperation, form: RequestForm, origin: string): string {
  const needsToken = (endpoint.security ?? []).length > 0
  const headers: CurlHeaders = headersOf(endpoint, form)
  return [
    `curl -X ${endpoint.method} ${quoteForShell(origin + pathOf(endpoint, form))}`,
    ...(needsToken ? ['  -H "authorization: Bearer $HOOKSWITCH_TOKEN"'] : []),
    ...headers.map(([name, value]) => `  -H ${quoteForShell(`${name}: ${value}`)}`),
    ...(form.body === null ? [] : [`  --data-raw ${quoteForShell(form.body)}`]),
  ].join(' \\\n')
}

/** Sends a request and returns its response; without an answer the status is 0. */
export async function send(endpoint: ApiOperation, form: RequestForm): Promise<TriedResponse> {
  const startedMs = performance.now()
  const ended = () => Math.round(performance.now() - startedMs)
  try {
    const response = await fetch(pathOf(endpoint, form), {
      method: endpoint.method,
      headers: { ...authorizationHeader(), ...Object.fromEntries(headersOf(endpoint, form)) },
      ...(form.body === null || form.body.trim() === '' ? {} : { body: form.body }),
      credentials: 'omit',
      cache: 'no-store',
    })
    const type = response.headers.get('content-type') ?? ''
    const text = isText(type) ? readable(type, await response.text()) : await sizeOf(response)
    return { status: response.status, durationMs: ended(), type, text }
  } catch {
    return { status: 0, durationMs: ended(), type: '', text: 'Hookswitch does not answer. Is it running?' }
  }
}

const isText = (type: string): boolean => /^(text\/|application\/([\w.-]+\+)?json)/.test(type)
const sizeOf = async (response: Response) => `${(await response.arrayBuffer()).byteLength} bytes`
const readable = (type: string, text: string): string => (type.includes('json') ? formatJson(text) : text)
