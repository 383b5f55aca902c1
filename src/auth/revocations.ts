/** Ends event streams and waiting reads when their token is revoked: both outlive the check of the token. */
type Revocations = {
  /** Calls `onRevoked` once when the token is revoked. Returns the function that ends the watch. */
  watch(token: string, onRevoked: () => void): () => void
  /** Looks up all watched tokens again: some may have been revoked. */
  check(): void
}

/** Creates the watch of tokens. */
export function createRevocations(isValid: (token: string) => Promise<boolean>): Revocations {
  const watched = new Map<string, Set<() => void>>()
  let isChecking = false
  let isWanted = false

  async function checkAll(): Promise<void> {
    for (const [token, listeners] of [...watched]) {
      // Where the store cannot be read now, the next check decides.
      if (await isValid(token).catch(() => true)) continue
      watched.delete(token)
      for (const onRevoked of listeners) onRevoked()
    }
  }

  async function check(): Promise<void> {
    isWanted = true
    if (isChecking) return
    isChecking = true
    while (isWanted) {
      isWanted = false
      await checkAll()
    }
    isChecking = false
  }

  return {
    watch(token, onRevoked) {
      const listeners = watched.get(token) ?? new Set()
      watched.set(token, listeners)
      listeners.add(onRevoked)
      return () => {
        listeners.delete(onRevoked)
        if (listeners.size === 0 && watched.get(token) === listeners) watched.delete(token)
      }
    },
    check: () => void check(),
  }
}
