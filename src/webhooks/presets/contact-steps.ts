import type { StepEvent } from '../flows/model.ts'
import { IS_OUTSIDE, IS_WHOLE, NUMBER, when } from './liquid.ts'

/**
 * The beginnings of the steps that look for the contact of an outside number and make a missing one. Both keep it as
 * `contact`.
 */

/** Returns the step that runs at the start of a call and, if that found no contact, at an event of its end. */
export const findContact = (atEnd: StepEvent) => ({
  name: 'contact',
  on: ['call_started' as const, atEnd],
  if: when(['number', 'kept.contact == nil', IS_OUTSIDE, IS_WHOLE], NUMBER),
})

/** Returns the step that runs at an event of the end if the contact was not found and the parameter `create` is on. */
export const createContact = (atEnd: StepEvent) => ({
  name: 'new_contact',
  on: [atEnd],
  if: when(['number', 'kept.contact == nil', 'parameters.create', IS_OUTSIDE, IS_WHOLE], NUMBER),
  again: 'contact',
  inTurn: { value: 'contact' },
})
