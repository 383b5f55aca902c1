/** Looks a name up: what is known already comes at once. @throws when there is no answer. */
export type Resolve = (name: string) => Answer | Promise<Answer>
type Answer = readonly string[]

/** Contract 2.7: an answer is kept 5 s at most. */
const KEPT_MS = 5_000
const MAX_NAMES = 4_096

/**
 * c-ares asks without a thread for each name: 40 names that hang delay no other. It reads /etc/hosts too.
 * IPv4 comes first: a machine without a way to IPv6 is more common than the reverse.
 */
const lookUp = async (name: string): Promise<Answer> => {
  const answers = await Bun.dns.lookup(name, { backend: 'c-ares' })
  return answers.toSorted((one, other) => one.family - other.family).map(({ address }) => address)
}

/** A resolver that keeps answers for 5 s, and asks once for many at a time. A failure is not kept. */
export function newResolver(
  resolve: (name: string) => Promise<Answer> = lookUp,
  nowMs: () => number = () => performance.now(),
): Resolve {
  const kept = new Map<string, { answer: Answer; untilMs: number }>()
  const asked = new Map<string, Promise<Answer>>()

  async function ask(name: string): Promise<Answer> {
    try {
      const answer = await resolve(name)
      if (kept.size >= MAX_NAMES) kept.clear()
      // The 5 s begin with the answer.
      kept.set(name, { answer, untilMs: nowMs() + KEPT_MS })
      return answer
    } finally {
      asked.delete(name)
    }
  }

  return (name) => {
    const known = kept.get(name)
    if (known !== undefined && nowMs() < known.untilMs) return known.answer
    const question = asked.get(name) ?? ask(name)
    asked.set(name, question)
    return question
  }
}
