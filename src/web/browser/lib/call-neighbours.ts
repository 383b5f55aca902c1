/** The list of calls that was shown last, in its order, so that one call leads to the next. */
let listed: readonly string[] = []

/** Keeps the list of calls that is shown. */
export function rememberCalls(ids: readonly string[]): void {
  listed = ids
}

/** Returns the calls beside one in the list that was shown last, which has the newest first. */
export function neighboursOf(id: string): { readonly older: string | null; readonly newer: string | null } {
  const at = listed.indexOf(id)
  if (at < 0) return { older: null, newer: null }
  return { older: listed[at + 1] ?? null, newer: listed[at - 1] ?? null }
}
