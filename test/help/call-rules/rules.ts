import { RESULTS } from './results.ts'
import { STAGES } from './stages.ts'
import { type Body, type Rule, storiesOf } from './story.ts'
import { TIMES } from './times.ts'
import { TRANSFERS } from './transfers.ts'

/** What holds for every list of events that is over, whatever the PBX: what the guide says of more than one field. */
export const RULES: readonly Rule[] = [...TIMES, ...RESULTS, ...STAGES, ...TRANSFERS]

/** Returns a sentence for each rule that events break: the rule's name, the call, and how. `exceptions` names rules that are not asked. */
export function brokenRules(bodies: readonly Body[], exceptions: readonly string[] = []): string[] {
  const stories = storiesOf(bodies)
  const rules = RULES.filter(({ name }) => !exceptions.includes(name))
  return [...stories.values()].flatMap((story) =>
    rules.flatMap(({ name, check }) => check(story, stories).map((how) => `${name}: call ${story.id}: ${how}`)),
  )
}
