import type { CallEventBody, EventBody } from '../../events/bodies.ts'
import { isOfCall } from '../../events/event-subject.ts'
import { readEvent } from '../read-event.ts'
import { faultOf, type ReceivedRequest } from '../receiver.ts'
import type { Played } from './recordings.ts'

/** A parsed request, and the fault in its signature, body or sequence, if it has one. */
export type Entry = { readonly event: EventBody | undefined; readonly fault: string | undefined }

/** Compares the events that arrive with the events of the recordings. */
type Checklist = {
  enter(request: ReceivedRequest, secret: string): Entry
  /** Returns a sentence for each missing event of the recordings and for each fault in the others. */
  missing(played: readonly Played[]): string[]
  /** Waits until all events of a recording have arrived, for at most `withinMs`. */
  complete(played: Played, withinMs: number): Promise<void>
}

/** Creates an empty checklist. */
export function newChecklist(): Checklist {
  const arrived = new Map<string, string[]>()
  /** The last sequence of each call. */
  const sequences = new Map<string, number>()
  const faults: string[] = []
  let wake = (): void => {}

  function faultOfEvent({ data }: CallEventBody): string | undefined {
    const expected = (sequences.get(data.call.id) ?? 0) + 1
    sequences.set(data.call.id, data.sequence)
    return data.sequence === expected ? undefined : `sequence is ${data.sequence}, expected ${expected}`
  }

  function absent({ pbx, expected }: Played): string[] {
    const open = [...(arrived.get(pbx) ?? [])]
    return expected.flatMap((name) => {
      const at = open.indexOf(name)
      if (at < 0) return [`${name} of ${pbx} did not arrive`]
      open.splice(at, 1)
      return []
    })
  }

  return {
    enter(request, secret) {
      const event = readEvent(request.body)
      const fault =
        faultOf(request, secret) ??
        (event === undefined || !isOfCall(event) ? 'the body is not a call event' : faultOfEvent(event))
      if (fault !== undefined) faults.push(fault)
      if (event !== undefined) arrived.set(event.data.pbx, [...(arrived.get(event.data.pbx) ?? []), event.data.name])
      wake()
      return { event, fault }
    },
    missing: (played) => [...played.flatMap(absent), ...faults],
    async complete(played, withinMs) {
      const late = Bun.sleep(withinMs).then(() => 'late' as const)
      while (absent(played).length > 0) {
        const next = new Promise<void>((resolve) => {
          wake = resolve
        })
        if ((await Promise.race([next, late])) === 'late') return
      }
    },
  }
}
