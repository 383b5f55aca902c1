/**
 * URLs of steps. Scheme, host and port of a request are the webhook's own or one of the flow's `origins`, whatever a
 * template renders: the result is parsed exactly as it is sent, and its origin compared.
 */

/** The URL of a step's request, or the reason why it is refused; a sentence for the owner. */
type StepUrl = { readonly url: string } | { readonly problem: string }

const SCHEME = /^[a-z][a-z0-9+.-]*:/i
/** Characters that a parser would strip or turn into a slash. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are searched for
const STRANGE = /[\s\\\u0000-\u001f\u007f]/
/** `.` and `..`, also written with `%2e`, lead to other paths than the template shows. */
const DOTS = /^(\.|%2e){1,2}$/i

/** Servers accept 8 KiB, and the log keeps the URL of each attempt. */
const MAX_CHARACTERS = 8_192

/** Joins the rendered URL of a step to its webhook's URL. */
export function joinStepUrl(webhookUrl: string, rendered: string, origins: readonly string[]): StepUrl {
  const text = rendered.trim()
  if (text.length > MAX_CHARACTERS) return { problem: `the URL has more than ${MAX_CHARACTERS} characters` }
  if (STRANGE.test(text)) return { problem: 'the URL has a space, a control character or a backslash' }
  if (!text.isWellFormed()) return { problem: 'the URL has half of a surrogate pair' }
  const base = new URL(webhookUrl)
  base.hash = ''
  if (text === '') return { url: base.href }
  const joined = SCHEME.test(text) ? text : placed(base, text)
  if (!URL.canParse(joined)) return { problem: 'the result is no URL' }
  const url = new URL(joined)
  const isOwn = url.origin === base.origin
  if (!isOwn && !origins.some((origin) => URL.canParse(origin) && new URL(origin).origin === url.origin))
    return { problem: `${url.origin} is neither the origin of the webhook nor one of \`origins\`` }
  if (SCHEME.test(text) && (url.username !== '' || url.password !== ''))
    return { problem: 'the URL has a user and password of its own' }
  const [path = ''] = text.split(/[?#]/, 1)
  if (path.split('/').some((part) => DOTS.test(part))) return { problem: 'the path has a `.` or `..` segment' }
  url.hash = ''
  if (isOwn && SCHEME.test(text)) [url.username, url.password] = [base.username, base.password]
  if (isOwn) url.search = joinedQuery(base.search, url.search)
  return { url: url.href }
}

/** Appends a relative URL to the webhook's. Not resolved, since `//host` would be another host. */
function placed(base: URL, text: string): string {
  const user = base.username === '' && base.password === '' ? '' : `${base.username}:${base.password}@`
  const origin = `${base.protocol}//${user}${base.host}`
  if (text.startsWith('/')) return origin + text
  if (text.startsWith('?') || text.startsWith('#')) return origin + base.pathname + text
  return `${origin}${base.pathname.replace(/\/*$/, '')}/${text}`
}

function joinedQuery(ofWebhook: string, ofStep: string): string {
  if (ofWebhook.length <= 1) return ofStep
  return ofStep.length <= 1 ? ofWebhook : `${ofWebhook}&${ofStep.slice(1)}`
}

/** Returns whether a URL has the origin of the webhook, and not one of `origins`. */
export const isOwnHost = (url: string, webhookUrl: string): boolean =>
  new URL(url).origin === new URL(webhookUrl).origin

/** Returns why the template of a step's URL is wrong; `undefined` if only its results can show it. */
export function urlTemplateProblem(
  template: string,
  webhookUrl: string,
  origins: readonly string[],
): string | undefined {
  const text = template.trim()
  if (text.startsWith('//')) return 'begins with `//`: name an origin with its scheme, or begin with one `/`'
  if (!SCHEME.test(text)) return undefined
  const [, origin = '', rest = ''] = /^([a-z][a-z0-9+.-]*:\/*[^/?#]*)([\s\S]*)$/i.exec(text) ?? []
  if (/[{}]/.test(origin) || (rest === '' && text.includes('{')))
    return 'has a tag before the first `/` of its path: a template cannot make the host and port'
  const found = URL.canParse(origin) ? new URL(origin) : undefined
  const own = URL.canParse(webhookUrl) ? new URL(webhookUrl).origin : undefined
  if (found === undefined || !/^https?:$/.test(found.protocol)) return 'must be an http: or https: URL, or relative'
  if (found.username + found.password !== '') return 'has a user and password of its own'
  return [own, ...origins].includes(found.origin)
    ? undefined
    : `${found.origin} is neither the origin of the webhook nor one of \`origins\``
}

/** Returns a URL without its query, user and fragment, for the log. */
export function urlForLog(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}
