import type { Keep } from '../model.ts'

/**
 * Twins: records of one call, made by requests whose answer was lost. The step that looks for the record of a call
 * keeps the first; a step after it deletes the others, which are as young as the first and hold the same.
 */
const TWINS = ['twin_1', 'twin_2', 'twin_3', 'twin_4'] as const
/** The kept value without which there are no twins. */
export const FIRST_TWIN = TWINS[0]

/** Returns what a search keeps: the first record as `name`, then its twins. `list` and `id` are pointers. */
export const keptTwins = (name: string, list: string, id: string): Keep =>
  Object.fromEntries([name, ...TWINS].map((one, at) => [one, `${list}/${at}${id}`]))

/** The `each` of the step that deletes the twins. */
export const eachTwin = `{{ ""${TWINS.map((name) => ` | append: kept.${name} | append: ","`).join('')} | split: "," | json }}`
