import { valueAt } from '../../lib/json-pointer.ts'
import { type Keep, type Kept, type KeptValue, MAX_KEPT_BYTES, type Rule, type Step, type Verdict } from './model.ts'

/**
 * The flow of one delivery. Pure: decides the next move by the steps, the stored progress and the kept values of the
 * call; and the meaning of an answer.
 *
 * A step is *open*, until it has ended as `done` or `skipped`. Of a step with `each` the progress counts the elements
 * that are made. Steps begin in the order of the list, one request at a time; a delivery is delivered when all steps
 * that its event begins have ended.
 */
export type Progress = Readonly<Record<string, StepProgress>>
/** `{ made }`: the number of elements of `each` that are done; others are left. */
type StepProgress = 'done' | 'skipped' | { readonly made: number }

type Move =
  | { readonly kind: 'end' }
  | { readonly kind: 'skip'; readonly step: Step; readonly reason: string }
  /** `element`: the index of the element of `each`; 0 without `each`. */
  | { readonly kind: 'make'; readonly step: Step; readonly element: number }

/** Returns whether an event begins a step. The two kinds of transfer have one switch. */
export const begins = ({ on }: Pick<Step, 'on'>, event: string): boolean =>
  (on as readonly string[]).includes(switchOf(event))

const switchOf = (event: string): string => (/^call_\w+_transferred$/.test(event) ? 'call_transferred' : event)

/** Returns the next move of a delivery. */
export function nextMove(steps: readonly Step[], event: string, progress: Progress, kept: Kept): Move {
  const step = steps.find((one) => begins(one, event) && !hasEnded(progress[one.name]))
  if (step === undefined) return { kind: 'end' }
  const missing = step.needs.filter((name) => !Object.hasOwn(kept, name))
  if (missing.length > 0) return { kind: 'skip', step, reason: skippedForNeed(missing) }
  const at = progress[step.name]
  return { kind: 'make', step, element: typeof at === 'object' ? at.made : 0 }
}

const hasEnded = (progress: StepProgress | undefined): boolean => progress === 'done' || progress === 'skipped'

const skippedForNeed = (missing: readonly string[]): string => `skipped: no value is kept for ${missing.join(', ')}`
export const SKIPPED_BY_IF = 'skipped: its `if` is empty or `false`'
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
  const verdict = wanted === 'renew' && !mayRenew ? 'retry' : wanted
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
