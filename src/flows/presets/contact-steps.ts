import type { StepEvent } from '../model.ts'
import { IS_OUTSIDE, IS_WHOLE, NUMBER, when } from './liquid.ts'

/**
 * The beginnings of the steps that look for the contact of an outside number and make a missing one. Both keep it as
 * `contact`.
 */

/**
 * Returns the step that looks for the contact at an event of the call's end: one that was found while it rang may have
 * been merged, archived or deleted since.
 */
export const findContact = (atEnd: StepEvent) => ({
  name: 'contact',
  on: [atEnd],
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
