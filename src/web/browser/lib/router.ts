import { observable } from './observable.ts'

/**
 * Which view is open: `#/deliveries/42?state=failed` is `{ view: 'deliveries', id: '42', query: { state: 'failed' } }`.
 */
type Route = { view: string; id: string | null; query: Record<string, string> }

/** Parses the address's fragment; an empty one is the live view. */
function parseRoute(hash: string): Route {
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

/** Returns the link to a view; empty query values are left out. */
export function routeHref(view: string, id?: string | null, query: Record<string, string> = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== '')
  const search = new URLSearchParams(pairs).toString()
  return `#/${view}${id ? `/${encodeURIComponent(id)}` : ''}${search === '' ? '' : `?${search}`}`
}

export const currentRoute = observable<Route>(parseRoute(location.hash))

addEventListener('hashchange', () => currentRoute.set(parseRoute(location.hash)))

/** Opens a view as a new step of the history. */
export function navigate(href: string): void {
  location.hash = href.slice(1)
}

/** Opens the view of a row that was clicked, unless something within it was. */
export function openUnlessLink({ target }: Event, href: string): void {
  if (!(target instanceof Element && target.closest('a, button, input, audio'))) navigate(href)
}

/** Changes the address without a new step of the history: for filters that are being typed. */
export function replaceRoute(href: string): void {
  history.replaceState(null, '', href)
  currentRoute.set(parseRoute(href))
}
