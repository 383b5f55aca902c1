/** Looks a name up. @throws when there is no answer. */
export type Resolve = (name: string) => Promise<readonly string[]>

/** Contract 2.7: an answer is kept 5 s at most. */
const KEPT_MS = 5_000
const MAX_NAMES = 4_096

/**
 * c-ares asks without a thread for each name: 40 names that hang delay no other. It reads /etc/hosts too.
 * IPv4 comes first: a machine without a way to IPv6 is more common than the reverse.
 */
const lookUp: Resolve = async (name) => {
  const answers = await Bun.dns.lookup(name, { backend: 'c-ares' })
  return answers.toSorted((one, other) => one.family - other.family).map(({ address }) => address)
}

/** A resolver that keeps answers for 5 s, and asks once for many at a time. A failure is not kept. */
export function newResolver(resolve: Resolve = lookUp, nowMs: () => number = () => performance.now()): Resolve {
  const kept = new Map<string, { untilMs: number; answer: Promise<readonly string[]> }>()
  return (name) => {
    const known = kept.get(name)
    if (known !== undefined && nowMs() < known.untilMs) return known.answer
    if (kept.size >= MAX_NAMES) kept.clear()
    // While it is being asked, the question is shared; the 5 s begin with the answer.
    const entry = { untilMs: Number.POSITIVE_INFINITY, answer: resolve(name) }
    kept.set(name, entry)
    entry.answer.then(
      () => {
        entry.untilMs = nowMs() + KEPT_MS
      },
      () => {
        if (kept.get(name) === entry) kept.delete(name)
      },
    )
    return entry.answer
  }
}
