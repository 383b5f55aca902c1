/** Returns the addresses of a name, at once if they are cached. @throws Error when there is no answer. */
export type Resolve = (name: string) => Answer | Promise<Answer>
type Answer = readonly string[]

/** An answer is cached for 5 s at most: receivers move. */
const CACHED_MS = 5_000
const MAX_NAMES = 4_096

/**
 * Resolves a name by c-ares, which needs no thread for each name: 40 names that hang delay no other. It reads
 * /etc/hosts too. IPv4 comes first: a machine without a route to IPv6 is more common than the reverse.
 */
const lookUp = async (name: string): Promise<Answer> => {
  const answers = await Bun.dns.lookup(name, { backend: 'c-ares' })
  return answers.toSorted((one, other) => one.family - other.family).map(({ address }) => address)
}

/** Makes a resolver that caches answers for 5 s, and asks once for many at a time. A failure is not cached. */
export function newResolver(
  resolve: (name: string) => Promise<Answer> = lookUp,
  nowMs: () => number = () => performance.now(),
): Resolve {
  const cached = new Map<string, { answer: Answer; untilMs: number }>()
  const asked = new Map<string, Promise<Answer>>()

  async function ask(name: string): Promise<Answer> {
    try {
      const answer = await resolve(name)
      if (cached.size >= MAX_NAMES) cached.clear()
      // The 5 s begin with the answer.
      cached.set(name, { answer, untilMs: nowMs() + CACHED_MS })
      return answer
    } finally {
      asked.delete(name)
    }
  }

  return (name) => {
    const known = cached.get(name)
    if (known !== undefined && nowMs() < known.untilMs) return known.answer
    const question = asked.get(name) ?? ask(name)
    asked.set(name, question)
    return question
  }
}
