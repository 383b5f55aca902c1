/**
 * The values that a browser keeps for a page: `tab` until the tab is closed, `browser` until their removal. In a frame
 * of another site a browser may refuse its storage: then values last as long as the page.
 */
type Place = 'tab' | 'browser'

function storageOf(place: Place): Storage | null {
  try {
    return place === 'tab' ? sessionStorage : localStorage
  } catch {
    return null
  }
}

/** Returns a value, `null` without one. */
export function readKept(place: Place, key: string): string | null {
  return storageOf(place)?.getItem(key) ?? null
}

/** Keeps a value, as far as the browser does. */
export function keep(place: Place, key: string, value: string): void {
  try {
    storageOf(place)?.setItem(key, value)
  } catch {
    // It is full, or private: the page works without.
  }
}

export function removeKept(place: Place, key: string): void {
  storageOf(place)?.removeItem(key)
}
