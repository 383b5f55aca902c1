import { lineOf, SETTING } from '../endpoints/endpoint-summary.ts'
import { createEndpoints } from '../endpoints/endpoints.ts'
import type { PbxSource } from '../source/pbx-url.ts'
import type { Find } from './finding.ts'
import type { InventoryReply } from './inventory-refresh.ts'

type EndpointCheck = {
  readonly find: Find
  readonly questions: readonly (readonly [question: string, meaning: string])[]
  /** What to do where it does not list its endpoints, and the line of its configuration that does it. */
  readonly right: string
  readonly line?: string
}

/** Reports how the endpoints of a PBX are classified, and why. */
export function checkEndpoints(
  source: PbxSource,
  { inventory, denied }: InventoryReply,
  { find, questions, right, line }: EndpointCheck,
): void {
  if (inventory === undefined) {
    find('advice', 'it does not list its endpoints, so only calls show which of them are phones')
    return
  }
  const missing = questions.flatMap(([question, meaning]) =>
    denied.includes(question) ? `${meaning} (${question})` : [],
  )
  if (missing.length > 0) find('advice', `it does not list ${missing.join(', ')}: ${right}`, line)
  const endpoints = createEndpoints(source)
  endpoints.configure(inventory)
  const known = endpoints.list()
  for (const kind of ['trunk', 'extension'] as const) {
    const line = lineOf(known, kind)
    if (line !== null) find('ok', line)
  }
  const undecided = lineOf(known, null)
  if (undecided !== null) find('advice', `${undecided}: calls will show what they are, or ${SETTING}`)
}
