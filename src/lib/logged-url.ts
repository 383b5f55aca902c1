/** A word, such as `hooks`, `api` or `v2`, which is no token. */
const WORD = /^[a-z][a-z._-]{0,19}\d{0,2}$/i

/**
 * Returns a redacted URL for logs, alerts and diagnoses, which others than its owner read: its origin, and the first
 * part of its path if that is a word. The rest, the query and the user often have a token:
 * `https://hooks.slack.com/services/…`.
 */
export function loggedUrl({
  protocol,
  host,
  pathname,
  search,
}: Pick<URL, 'protocol' | 'host' | 'pathname' | 'search'>): string {
  const [first = '', ...more] = pathname.slice(1).split('/')
  const isShown = first === '' || WORD.test(first)
  const isWhole = isShown && more.length === 0 && search === ''
  const shown = isShown && first !== '' ? `${first}${more.length > 0 ? '/' : ''}` : ''
  return `${protocol}//${host}/${shown}${isWhole ? '' : '…'}`
}
