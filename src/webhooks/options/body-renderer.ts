import type { NowUs } from '../../lib/time.ts'
import { MILLISECOND, SECOND } from '../../lib/time.ts'
import type { BodyOption } from '../../store/operations/webhooks.ts'
import { type PresetName, presetOf } from './body-presets.ts'
import { type BodyTemplate, parseTemplate, TemplateError } from './body-template.ts'
import { viewOf } from './event-view.ts'

/** A body as it goes out. An empty one is not sent. */
export type Rendered = { readonly contentType: string; readonly text: string }
export type Renderer = (defaultBody: string) => Rendered

/**
 * After so many renderings in a row that took too long, a template is left alone for a while: it would take time from
 * everybody else.
 */
const MAX_SLOW = 3
const REST_US = 60 * SECOND
/**
 * Templates that are quick enough each time still may not take more than this share of the process, those of an account
 * together, after a burst: a usual one takes some 30 µs, which is a share of 0.03 at 1,000 events a second.
 */
const MAX_SHARE = 0.2
const BURST_US = 200 * MILLISECOND
/** More than this is not the template's: the process was stopped meanwhile. */
const MAX_CHARGE_US = 20 * MILLISECOND

/** The time that the templates of an account may take. */
export type RenderBudget = { isSpent(atUs: number): boolean; charge(fromUs: number, toUs: number): void }

/** Creates the time that the templates of an account may take together. */
export function createRenderBudget(): RenderBudget {
  // When the time that they took until now would have passed at their share.
  let paidUntilUs = Number.NEGATIVE_INFINITY
  return {
    isSpent: (atUs) => paidUntilUs - atUs > BURST_US / MAX_SHARE,
    charge(fromUs, toUs) {
      paidUntilUs = Math.max(paidUntilUs, fromUs) + Math.min(toUs - fromUs, MAX_CHARGE_US) / MAX_SHARE
    },
  }
}

/** Creates a function that returns the budget of an account. */
export function createRenderBudgets(): (accountId: number) => RenderBudget {
  const budgets = new Map<number, RenderBudget>()
  return (accountId) => {
    const budget = budgets.get(accountId) ?? createRenderBudget()
    budgets.set(accountId, budget)
    return budget
  }
}

/**
 * Makes what turns default bodies into those that a webhook wants.
 * @throws TemplateError when the template cannot be read; the renderer throws one when it cannot be rendered.
 */
export function createRenderer(body: BodyOption, steadyUs: NowUs, budget = createRenderBudget()): Renderer {
  if ('preset' in body) {
    const { contentType, render } = presetOf(body.preset as PresetName)
    return (defaultBody) => ({ contentType, text: render(viewOf(defaultBody), body.parameters) })
  }
  const { contentType } = body
  const render = guarded(parseTemplate(body.template), steadyUs, budget)
  return (defaultBody) => ({ contentType, text: render(viewOf(defaultBody)) })
}

function guarded(template: BodyTemplate, steadyUs: NowUs, budget: RenderBudget): BodyTemplate {
  let slow = 0
  let restUntilUs = Number.NEGATIVE_INFINITY
  return (data) => {
    const startedUs = steadyUs()
    if (startedUs < restUntilUs)
      throw new TemplateError('took too long several times: it is tried again after a minute')
    if (budget.isSpent(startedUs)) throw new TemplateError('takes too long for so many events: it is tried again later')
    try {
      const text = template(data)
      slow = 0
      return text.trim() === '' ? '' : text
    } catch (error) {
      slow = error instanceof TemplateError && error.isSlow ? slow + 1 : 0
      if (slow >= MAX_SLOW) restUntilUs = steadyUs() + REST_US
      throw error
    } finally {
      budget.charge(startedUs, steadyUs())
    }
  }
}
