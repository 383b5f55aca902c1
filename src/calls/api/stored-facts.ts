import type { EventFacts } from '../../events/filter.ts'
import { readCallEventBody } from '../../events/stored-json.ts'
import { ERASED_START } from '../../store/operations/log.ts'
import type { Store } from '../../store/store.ts'
import { factsOfStored } from '../event-facts.ts'

type StoredEvent = { readonly callId: string; readonly name: string; readonly sequence: number }

/** Makes the function that returns the facts of a stored event for filters; `undefined` if it was deleted or erased. */
export function createStoredFacts(log: Pick<Store['log'], 'eventListOfCall'>) {
  return async (accountId: number, { callId, name, sequence }: StoredEvent): Promise<EventFacts | undefined> => {
    const rows = await log.eventListOfCall(accountId, callId)
    const at = rows.findIndex((row) => row.name === name && row.sequence === sequence)
    const texts = rows.slice(0, at + 1).filter((row) => !row.body.startsWith(ERASED_START))
    return at < 0 ? undefined : factsOfStored(texts.map(({ body }) => readCallEventBody(body)))
  }
}
