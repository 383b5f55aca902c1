import { valueAt } from '../lib/json-pointer.ts'
import { type Keep, type Kept, type KeptValue, MAX_KEPT_BYTES, type Rule, type Step, type Verdict } from './model.ts'

/**
 * The flow of one delivery. Pure: decides the next move by the steps, the stored progress and the kept values of the
 * call; and the meaning of an answer.
 *
 * A step is *open*, until it has ended as `done` or `skipped`. Of a step with `each` the progress counts the elements
 * that are made. Steps begin in the order of the list, one request at a time; a delivery is delivered when all steps
 * that its event begins have ended.
 *
 * A step with `again` is *begun* in the store before its request is sent (`progressBegun`). If the store then has no
 * answer to it (a kill, or a lost answer), or the delivery was sent again by hand, the step is *in doubt*
 * (`stepInDoubt`): the flow begins again at the step that `again` names (`progressAgain`), so that a search finds the
 * record that the lost request may have made. An answer can ask for the same (`looksAgain`): what an earlier step found
 * is there no longer.
 */
export type Progress = Readonly<Record<string, StepProgress>>
/** `{ made }`: the number of elements of `each` that are done; others are left. */
type StepProgress = 'done' | 'skipped' | Open
/**
 * `begun`: the generation of the delivery in which a step with `again` has sent a request; `isAnswered`: its answer
 * came, and did not end the step. `from`: the step at which a rule about its answer begins again.
 */
type Open = { readonly made: number; readonly begun?: number; readonly isAnswered?: true; readonly from?: string }

type Move =
  | { readonly kind: 'end' }
  | { readonly kind: 'skip'; readonly step: Step; readonly reason: string }
  /** `element`: the index of the element of `each`; 0 without `each`. */
  | { readonly kind: 'make'; readonly step: Step; readonly element: number }

/** Returns whether an event begins a step. The two kinds of transfer have one switch. */
export const begins = ({ on }: Pick<Step, 'on'>, event: string): boolean =>
  (on as readonly string[]).includes(switchOf(event))

const switchOf = (event: string): string => (/^call_\w+_transferred$/.test(event) ? 'call_transferred' : event)

export function nextMove(steps: readonly Step[], event: string, progress: Progress, kept: Kept): Move {
  const step = steps.find((one) => begins(one, event) && !hasEnded(progress[one.name]))
  if (step === undefined) return { kind: 'end' }
  const missing = step.needs.filter((name) => !Object.hasOwn(kept, name))
  if (missing.length > 0) return { kind: 'skip', step, reason: skippedForNeed(missing) }
  const at = progress[step.name]
  return { kind: 'make', step, element: typeof at === 'object' ? at.made : 0 }
}

/** Returns the open step of a delivery whose request may have been made without a known answer, if there is one. */
export function stepInDoubt(
  steps: readonly Step[],
  event: string,
  progress: Progress,
  generation: number,
): Step | undefined {
  const step = steps.find((one) => begins(one, event) && !hasEnded(progress[one.name]))
  const at = step === undefined ? undefined : progress[step.name]
  if (step === undefined || typeof at !== 'object' || at.begun === undefined) return undefined
  if (step.again === null && at.from === undefined) return undefined
  return at.isAnswered === true && at.begun === generation ? undefined : step
}

/** Returns the progress with which a request of a step with `again` is sent. */
export function progressBegun(
  progress: Progress,
  { name }: Pick<Step, 'name'>,
  { element, generation }: { readonly element: number; readonly generation: number },
): Progress {
  return { ...progress, [name]: { made: element, begun: generation } }
}

/** Returns the step at which a step in doubt begins again: the one that a rule about its answer names, or its own. */
export function againOf(progress: Progress, { name, again }: Pick<Step, 'name' | 'again'>): string | null {
  const at = progress[name]
  return (typeof at === 'object' ? at.from : undefined) ?? again
}

type JudgedRequest = {
  readonly element: number
  readonly generation: number
  readonly status: number
  readonly judged: Pick<Judgement, 'rule'>
}

/** Returns the progress after an answer to a request of a step, unless the answer ends the step. */
export function progressJudged(
  progress: Progress,
  step: Pick<Step, 'name'>,
  { element, generation, status, judged }: JudgedRequest,
): Progress {
  const from = judged.rule?.then === 'again' ? judged.rule.step : undefined
  if (from !== undefined) return { ...progress, [step.name]: { made: element, begun: generation, from } }
  return looksAgain(status, judged) ? progress : progressAnswered(progress, step)
}

/** Returns the progress after an answer that did not end the begun step: a repetition need not look first. */
export function progressAnswered(progress: Progress, { name }: Pick<Step, 'name'>): Progress {
  const at = progress[name]
  if (typeof at !== 'object' || at.begun === undefined) return progress
  return { ...progress, [name]: { ...at, isAnswered: true } }
}

/**
 * Returns the progress of a delivery that begins again for a step in doubt, and the kept values that it forgets: from
 * the step at which it begins (`againOf`) to the one in doubt, all are open. The elements of `each` that the one in
 * doubt has made stay made.
 */
export function progressAgain(
  steps: readonly Step[],
  event: string,
  progress: Progress,
  inDoubt: Step,
): { readonly progress: Progress; readonly forgotten: readonly string[] } {
  const to = steps.indexOf(inDoubt)
  const again = againOf(progress, inDoubt)
  const from = steps.findIndex(({ name }) => name === again)
  // The flow was changed since: without that step there is nothing to look for.
  const repeated = from < 0 ? [] : steps.slice(from, to).filter((one) => begins(one, event))
  const names = new Set(repeated.map(({ name }) => name))
  const rest = Object.entries(progress).filter(([name]) => !names.has(name) && name !== inDoubt.name)
  const at = progress[inDoubt.name]
  const made = typeof at === 'object' ? at.made : 0
  return { progress: { ...Object.fromEntries(rest), [inDoubt.name]: { made } }, forgotten: keptNames(repeated) }
}

const keptNames = (steps: readonly Step[]): string[] => [
  ...new Set(steps.flatMap(({ keep, when }) => [keep, ...when.map((rule) => rule.keep ?? {})].flatMap(Object.keys))),
]

/** Statuses by which something between us and the system says that it did not wait for the answer. */
const LOST_STATUSES: readonly number[] = [408, 502, 504]
/** Returns whether an answer leaves open if the request was carried out. */
const isLostAnswer = (status: number): boolean => LOST_STATUSES.includes(status)

/** Returns whether a judged answer leaves its step in doubt. */
const looksAgain = (status: number, { rule }: Pick<Judgement, 'rule'>): boolean =>
  isLostAnswer(status) || rule?.then === 'again'

const hasEnded = (progress: StepProgress | undefined): boolean => progress === 'done' || progress === 'skipped'

const skippedForNeed = (missing: readonly string[]): string => `skipped: no value is kept for ${missing.join(', ')}`
export const SKIPPED_BY_IF = 'skipped: its `if` is empty or `false`'
export const LOOKS_FIRST = 'a request of this step may have been carried out already: the flow begins again at step'
export const SKIPPED_WITHOUT_ELEMENTS = 'skipped: its `each` has no elements'

/** Returns the progress after an element of a step was done or skipped; `count`: the number of elements. */
export function progressAfter(
  progress: Progress,
  { name }: Pick<Step, 'name'>,
  end: { readonly element: number; readonly count: number; readonly as: 'done' | 'skipped' },
): Progress {
  const made = end.element + 1
  // If a step has several elements, some may have been skipped: the step counts as done.
  const as = end.element > 0 ? 'done' : end.as
  return { ...progress, [name]: made >= end.count ? as : { made } }
}

/** The answer to a step's request. `json`: its body; `undefined` if it is not JSON or too long. */
type StepAnswer = { readonly status: number; readonly json: unknown }

/** The meaning of an answer: the verdict, the values to keep, and the deciding rule, if any. */
export type Judgement = { readonly verdict: Verdict; readonly kept: Kept; readonly rule: Rule | undefined }

/**
 * Returns the meaning of an answer for a step. `mayRenew`: there is an authorization that was not renewed for this
 * request yet.
 */
export function judge(step: Pick<Step, 'when' | 'keep'>, answer: StepAnswer, mayRenew: boolean): Judgement {
  const rule = step.when.find((one) => matches(one, answer))
  const wanted =
    rule?.then ?? (answer.status >= 200 && answer.status < 300 ? 'done' : answer.status === 401 ? 'renew' : 'retry')
  const verdict = wanted === 'again' || (wanted === 'renew' && !mayRenew) ? 'retry' : wanted
  const kept = {
    ...(verdict === 'done' ? keptOf(step.keep, answer.json) : {}),
    ...keptOf(rule?.keep ?? {}, answer.json),
  }
  return { verdict, kept, rule }
}

function matches({ status, pointer, values }: Rule, answer: StepAnswer): boolean {
  if (status !== undefined && !matchesStatus(status, answer.status)) return false
  if (pointer === undefined) return true
  const found = valueAt(answer.json, pointer)
  if (isEmpty(found)) return false
  return values === undefined || (typeof found !== 'object' && values.includes(String(found)))
}

const matchesStatus = (wanted: string | readonly number[], status: number): boolean =>
  typeof wanted === 'string' ? wanted.startsWith(String(Math.floor(status / 100))) : wanted.includes(status)

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0)

/** Returns the values of an answer that can be kept: strings, numbers and booleans of at most 1 KiB. */
function keptOf(keep: Keep, json: unknown): Kept {
  const found: Record<string, KeptValue> = {}
  for (const [name, pointer] of Object.entries(keep)) {
    const value = valueAt(json, pointer)
    if (isKeepable(value)) found[name] = value
  }
  return found
}

const isKeepable = (value: unknown): value is KeptValue =>
  (typeof value === 'string' && Buffer.byteLength(value) <= MAX_KEPT_BYTES && value.isWellFormed()) ||
  typeof value === 'number' ||
  typeof value === 'boolean'
