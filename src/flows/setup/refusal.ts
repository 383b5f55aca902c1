import { valueAt } from '../../lib/json-pointer.ts'
import type { Exchanged } from '../../outbound/exchange.ts'

const MAX_REASON_CHARACTERS = 500

/** The usual mistakes, by the answer's status. */
const ADVICE: Readonly<Record<number, string>> = {
  401: 'the key is wrong, has expired, or belongs to another account: make a new one',
  402: 'the plan of the CRM does not include its API',
  403: 'the key has no permission for this: give its user or application the permissions in the guide',
  404: 'the URL is wrong: compare it with the guide',
  405: 'the URL is wrong: compare it with the guide',
  429: 'too many requests: wait a minute',
}
const ADVICE_REDIRECT = 'the URL leads to another one: compare it with the guide'
const ADVICE_WRONG_URL = 'the URL is that of its web pages: compare it with the guide'
export const ADVICE_REFUSED = 'compare the key, its user and the URL with the guide'

/** Where CRMs put the text of an error. */
const WORDS = [
  '/error_description',
  '/error/data/message',
  '/error/message',
  '/message',
  '/detail',
  '/title',
  '/error',
  '/errors/0/message',
  '/data/0/message',
  '/error/code',
  '/category',
  '/code',
]

/** `own`: the preset's advice, by the answer's status. */
type Explaining = { readonly masked: (text: string) => string; readonly own: Readonly<Record<number, string>> }

/** Returns the CRM's own explanation of an error, and what to do about it. */
export function reasonOf({ status, failure, text }: Exchanged, json: unknown, { masked, own }: Explaining): string {
  // The refusal of an address says what to do.
  if (status === null && failure?.includes('--allow-net')) return failure
  if (status === null) return `${failure ?? 'no answer'}: is the URL right, and reachable from here?`
  const isSuccess = status >= 200 && status < 300
  const isPage = json === undefined && /^\s*</.test(text ?? '')
  const words = WORDS.map((pointer) => valueAt(json, pointer)).find((one) => typeof one === 'string' && one !== '')
  // The JSON of a success has no error to show.
  const said = masked(String(words ?? (isPage || isSuccess ? '' : (text ?? ''))).slice(0, MAX_REASON_CHARACTERS))
  const answer = `the CRM answered ${status}${isPage ? ' with a web page' : ''}`
  const advice = isSuccess
    ? json === undefined
      ? ADVICE_WRONG_URL
      : (own[status] ?? ADVICE_REFUSED)
    : status < 400
      ? ADVICE_REDIRECT
      : (own[status] ?? ADVICE[status])
  const refusal = isSuccess && json !== undefined ? `${answer}, but with an error` : answer
  return [`${refusal}${said === '' ? '' : `: ${said}`}`, ...(advice === undefined ? [] : [advice])].join('. ')
}
