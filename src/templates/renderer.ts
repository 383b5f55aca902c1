import { type NowUs, SECOND, steadyUs as systemSteadyUs } from '../lib/time.ts'
import { createBudgets, createRests } from './budget.ts'
import { type JobRendering, renderJob, type TemplateText } from './render-job.ts'

/**
 * Renders templates. Each request is rendered at once, within limits that end it after some milliseconds
 * (`engine-limits.ts`); requests that have used up their share of a turn of the event loop wait for a later one.
 */
export type TemplateRenderer = {
  /** Renders templates with the same data, which share one limit. Never rejects: a failure is a rendering. */
  render<Name extends string>(request: RenderRequest<Name>): Promise<Readonly<Record<Name, Rendering>>>
}

export type RenderRequest<Name extends string> = {
  readonly accountId: number
  /** Each purpose has its own budget, so that a template can be corrected while its sending budget is spent. */
  readonly purpose: 'sending' | 'reading' | 'trying'
  readonly templates: Readonly<Record<Name, TemplateText>>
  /** The data of the templates: the JSON text of an object. */
  readonly data: string
}

/** The result, or a sentence for the owner of the template on why it failed. */
export type Rendering =
  | JobRendering
  | { readonly problem: string; readonly kind: 'resting' }
  /** The template is not at fault: try again after this time. */
  | { readonly problem: string; readonly kind: 'busy'; readonly afterUs: number }

/** The longest time of one turn of the event loop in which templates begin: the last of them may take 10 ms more. */
const TURN_MS = 3
const MAX_WAIT_US = 5 * SECOND
/** The key of the budget of slow templates, and from how many units on a request is slow: some 1 ms. */
const SLOW = 'slow'
const SLOW_UNITS = 10_000
const MAX_SLOW = 10_000

/** Creates the renderer. */
export function createTemplateRenderer({
  steadyUs = systemSteadyUs,
}: {
  readonly steadyUs?: NowUs
} = {}): TemplateRenderer {
  const budgets = createBudgets()
  const rests = createRests()
  const nextTurn = createTurns()
  /** Templates whose last rendering was slow: those of all accounts together have a budget, too. */
  const slow = new Set<string>()

  /** Returns why a request is not rendered now; `undefined`: it may be. */
  function refusalOf(keys: readonly string[], budget: string, sinceUs: number): Rendering | undefined {
    const atUs = steadyUs()
    if (!rests.isEmpty() && keys.some((key) => rests.restsForUs(key, atUs) > 0))
      return { kind: 'resting', problem: RESTS }
    const isSlow = keys.some((key) => slow.has(key))
    const spentForUs = Math.max(budgets.spentForUs(budget, atUs), isSlow ? budgets.spentForUs(SLOW, atUs) : 0)
    if (spentForUs > 0) return { kind: 'busy', problem: SPENT, afterUs: spentForUs }
    return atUs - sinceUs > MAX_WAIT_US ? { kind: 'busy', problem: WAITED, afterUs: SECOND } : undefined
  }

  function noteUnits(
    keys: readonly string[],
    { units, atUs, tookUs }: { readonly units: number; readonly atUs: number; readonly tookUs: number },
  ): void {
    const isSlow = units > SLOW_UNITS
    if (isSlow) budgets.charge(SLOW, atUs, tookUs)
    else if (slow.size === 0) return
    if (slow.size > MAX_SLOW) slow.clear()
    for (const key of keys) isSlow ? slow.add(key) : slow.delete(key)
  }

  return {
    async render<Name extends string>({ accountId, purpose, templates, data }: RenderRequest<Name>) {
      // Object.keys loses the type of the keys, fromEntries too.
      const names = Object.keys(templates) as Name[]
      const all = (renderingOf: (at: number) => Rendering) =>
        Object.fromEntries(names.map((name, at) => [name, renderingOf(at)])) as Record<Name, Rendering>
      const budget = `${accountId}:${purpose}`
      const keys = names.map((name) => `${accountId}:${Bun.hash(templates[name].text)}`)
      const sinceUs = steadyUs()
      const later = nextTurn()
      if (later !== undefined) await later
      const refusal = refusalOf(keys, budget, sinceUs)
      if (refusal !== undefined) return all(() => refusal)
      const texts = names.map((name): TemplateText => templates[name])
      const { renderings, units, tookUs } = renderJob(texts, data)
      const atUs = steadyUs()
      budgets.charge(budget, atUs, tookUs)
      noteUnits(keys, { units, atUs, tookUs })
      for (const [at, key] of keys.entries()) {
        const rendering = renderings[at]
        if (rendering !== undefined && 'problem' in rendering && rendering.kind === 'costly')
          rests.noteCostly(key, atUs)
        else if (!rests.isEmpty()) rests.noteUsual(key)
      }
      return all((at) => renderings[at] ?? { text: '' })
    },
  }
}

/**
 * Returns a function that says when a template may be rendered: now (`undefined`), while templates have used little of
 * this turn of the event loop, else in a later one, in the order of the requests.
 */
function createTurns(): () => Promise<void> | undefined {
  let untilMs: number | undefined
  let last: Promise<void> | undefined

  function mayBegin(): boolean {
    if (untilMs !== undefined) return performance.now() < untilMs
    untilMs = performance.now() + TURN_MS
    setImmediate(() => {
      untilMs = undefined
    })
    return true
  }
  async function begin(): Promise<void> {
    while (!mayBegin()) await new Promise((resolve) => void setImmediate(resolve))
  }
  return () => {
    if (last === undefined && mayBegin()) return undefined
    const turn = last === undefined ? begin() : last.then(begin)
    last = turn
    void turn.then(() => {
      if (last === turn) last = undefined
    })
    return turn
  }
}

const RESTS = 'took too long, or too much memory: it is tried again after a rest'
const SPENT = 'takes too long for so many events: it is tried again later'
const WAITED = 'waited too long for other templates: it is tried again later'
