import type { EventBody, Party } from '../../events/bodies.ts'
import { withNumber } from '../../events/party-name.ts'
import { STATE_PHRASES } from '../../events/phrase.ts'
import type { States } from '../../events/states.ts'
import type { DeliveryRow, LogStore } from '../../store/operations/log.ts'
import { eventIdOf } from '../../store/operations/queue.ts'

/** The parts of a body that its sentence is made of; all `null` for an erased body. */
type About = { readonly [Part in 'from' | 'to']: Pick<Party, 'number' | 'name' | 'extension'> | null } & {
  readonly [Part in keyof States]: States[Part] | null
}

/**
 * Returns the subjects of events, each as a sentence for people: who calls whom, or which phone, trunk, agent or
 * queue.
 */
export async function readSubjects(
  log: Pick<LogStore, 'eventAboutList'>,
  rows: readonly DeliveryRow[],
): Promise<(row: DeliveryRow) => string> {
  const ids = [...new Set(rows.map(({ id }) => eventIdOf(id)))]
  const found = ids.length === 0 ? [] : await log.eventAboutList(ids)
  const sentences = new Map(found.map(({ id, about }) => [id, sentenceOf(about)]))
  return ({ id }) => sentences.get(eventIdOf(id)) ?? ''
}

/** Returns the sentence on a body whose parts were read as JSON. This program wrote it. */
const sentenceOf = (json: string): string => sentenceOfParts(JSON.parse(json))

/** Returns the sentence on a body; `undefined`: it was erased. */
export function sentenceOfBody(body: EventBody | undefined): string {
  const data = body?.data
  return sentenceOfParts({
    from: data !== undefined && 'call' in data ? (data.call?.from ?? null) : null,
    to: data !== undefined && 'call' in data ? (data.call?.to ?? null) : null,
    phone: data !== undefined && 'phone' in data ? data.phone : null,
    trunk: data !== undefined && 'trunk' in data ? data.trunk : null,
    agent: data !== undefined && 'agent' in data ? data.agent : null,
    queue: data !== undefined && 'queue' in data ? data.queue : null,
  })
}

function sentenceOfParts({ from, to, phone, trunk, agent, queue }: About): string {
  if (from !== null && to !== null) return `${nameOf(from)} calls ${nameOf(to)}`
  if (phone !== null) return STATE_PHRASES.phone(phone)
  if (trunk !== null) return STATE_PHRASES.trunk(trunk)
  if (agent !== null) return STATE_PHRASES.agent(agent)
  return queue === null ? '' : STATE_PHRASES.queue(queue)
}

/** Writes a party by its name and extension, else by its number. */
const nameOf = ({ number, name, extension }: NonNullable<About['from']>): string =>
  withNumber(name, extension) ?? number ?? 'an anonymous caller'
