import { cell } from './state.ts'

/** Where the reader is: `#/deliveries/42?state=failed` is `{ view: 'deliveries', id: '42', query: { state: 'failed' } }`. */
export type Place = { view: string; id: string | null; query: Record<string, string> }

export function parsePlace(hash: string): Place {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  const [view = '', id] = path.split('/')
  return {
    view: view === '' ? 'live' : view,
    id: id === undefined || id === '' ? null : decode(id),
    query: Object.fromEntries(new URLSearchParams(search)),
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export function placeHref(view: string, id?: string | null, query: Record<string, string> = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== '')
  const search = new URLSearchParams(pairs).toString()
  return `#/${view}${id ? `/${encodeURIComponent(id)}` : ''}${search === '' ? '' : `?${search}`}`
}

export const place = cell<Place>(parsePlace(location.hash))

addEventListener('hashchange', () => place.set(parsePlace(location.hash)))

export function go(href: string): void {
  location.hash = href.slice(1)
}

/** Changes the address without a new step in the history: for filters that are being typed. */
export function settle(href: string): void {
  history.replaceState(null, '', href)
  place.set(parsePlace(href))
}
