import type { Rule } from '../model.ts'
import type { PresetStep } from '../preset.ts'
import { OWNER, RESPONSIBLE } from './liquid.ts'

/** A step whose body names a CRM user: `body` gets the fragment that assigns `user`. */
type OwnedStep = Omit<PresetStep, 'if' | 'body' | 'when'> & {
  readonly if: string
  readonly body: (assignUser: string) => string
  /** The value that the step keeps when it was successful. */
  readonly result: string
  /**
   * The answers by which the CRM refuses a user; `mark` is where such an answer has a short text. Without that text the
   * second step begins whenever the first has no result.
   */
  readonly refused: readonly (Pick<Rule, 'status' | 'pointer' | 'values'> & { readonly mark?: string })[]
  /** The rules for all other answers. */
  readonly when: readonly Rule[]
  /** The headers of the second step, if they differ. */
  readonly headersAgain?: Record<string, string>
}

/**
 * Returns a step, and a second one that makes it for the responsible user if the CRM refused the first: its user may
 * have left, which must not cost the call. An answer that refuses both decides as usual.
 */
export function ownedStep({ body, result, refused, when, headersAgain, ...step }: OwnedStep): readonly PresetStep[] {
  const marker = `${step.name}_refused`
  const hasMark = refused.every(({ mark }) => mark !== undefined)
  const refusals = refused.map(
    ({ mark, ...rule }): Rule => ({ ...rule, then: 'done', keep: mark === undefined ? {} : { [marker]: mark } }),
  )
  return [
    { ...step, body: body(OWNER), when: [...refusals, ...when] },
    {
      ...step,
      name: `${step.name}_for_responsible`,
      if: `{%- if kept.${result} == nil -%}${step.if}{%- endif -%}`,
      needs: [...(step.needs ?? []), ...(hasMark ? [marker] : [])],
      headers: headersAgain ?? step.headers ?? {},
      body: body(RESPONSIBLE),
      when: [...when],
    },
  ]
}
