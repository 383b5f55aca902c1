import type { Kept, Parameters, Step } from './model.ts'

/** What the templates of a step have. */
export type StepData = {
  /** The default body of the event, JSON text: `time` and `data`. */
  readonly body: string
  readonly kept: Kept
  /** The kept values of the calls that were merged into this one, in the order of `merged_from`. */
  readonly merged: readonly { readonly kept: Kept }[]
  readonly parameters: Parameters
  /** The element of `each`; `undefined`: the step has no `each`. */
  readonly item?: unknown
}

/** Rendering failed; `problem` is a sentence for the owner, with the field of the step in it: `url: line 1, …`. */
export type StepProblem = {
  readonly problem: string
  /** The field at fault: `url`, `headers/x-key`, `upload/fields/name`, … */
  readonly field: string
}

/** A request as the templates of a step have made it, not yet joined to the URL of the webhook. */
export type RenderedStep = {
  /** As rendered: what a template puts out is escaped for a component of a URL. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** `null`: the step has no body. */
  readonly body: string | null
  /** The further fields of an upload as a form, else empty. */
  readonly fields: Readonly<Record<string, string>>
}

/** Renders the templates of steps, for one account and purpose. Never rejects. */
export type StepRenderer = {
  /** Renders `each`. Returns the array, of at most MAX_ELEMENTS. */
  elements(step: Step, data: StepData): Promise<{ readonly elements: readonly unknown[] } | StepProblem>
  /** Renders `if`, and unless it says to skip the step, the request. Returns `skipped` if `if` is empty or `false`. */
  request(
    step: Omit<Step, 'name' | 'on'>,
    data: StepData,
  ): Promise<{ readonly request: RenderedStep } | { readonly skipped: true } | StepProblem>
}
