import type { FieldError } from '../lib/fault.ts'
import { objectOf } from '../lib/foreign-json.ts'
import { pointerPart } from '../lib/json-pointer.ts'

/** Headers that Hookswitch sets itself, or that would change how the request is read. */
const REFUSED_HEADERS =
  /^(host|content-.*|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|user-agent|accept-encoding|proxy-.*|webhook-.*|traceparent|tracestate)$/
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/
const VALUE = /^[ -~]*$/

/** Returns whether a URL has a user or a password. */
export const hasCredentials = (url: unknown): boolean =>
  typeof url === 'string' && URL.canParse(url) && new URL(url).username + new URL(url).password !== ''

/** Returns the JSON pointer (RFC 6901) to a header by its name. */
export const pointerTo = (name: string, within = '/headers'): string => `${within}/${pointerPart(name)}`

type HeadersPlace = {
  readonly pointer: string
  /** `authorization` comes from the URL, or from the flow's authorization. */
  readonly withCredentials: boolean
  /** The values are templates; their results are made valid for a header. */
  readonly areTemplates?: boolean
}

/** Returns the errors of headers at a JSON pointer. */
export function headerErrors(headers: unknown, place: HeadersPlace): FieldError[] {
  const seen = new Set<string>()
  return Object.entries(objectOf(headers)).flatMap(([name, value]) => {
    const lower = name.toLowerCase()
    const message = seen.has(lower)
      ? 'occurs twice: upper and lower case make no difference'
      : headerProblem(lower, value, place)
    seen.add(lower)
    return message === undefined ? [] : [{ path: pointerTo(name, place.pointer), message }]
  })
}

function headerProblem(
  name: string,
  value: unknown,
  { withCredentials, areTemplates = false }: HeadersPlace,
): string | undefined {
  if (!TOKEN.test(name)) return "must have a name of letters, digits and !#$%&'*+.^_`|~-, 100 at most"
  if (REFUSED_HEADERS.test(name)) return 'is a header that cannot be set here'
  if (name === 'authorization' && withCredentials)
    return areTemplates
      ? 'comes from the user and password in the URL, or from the authorization of the flow'
      : 'comes from the user and password in the URL'
  return areTemplates || typeof value !== 'string' || VALUE.test(value)
    ? undefined
    : 'may only have visible ASCII characters and spaces'
}
