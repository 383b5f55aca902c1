import { extensionsOf } from '../../calls/calls.ts'
import type { Call, CallEventBody, Stage } from '../../events/bodies.ts'

/** Returns whether a stream of calls alone sends a call in its present state. `stages`: its known stages. */
export type CallFilter = (call: Call, stages: readonly Stage[]) => boolean

/**
 * Creates the filter of a stream: all calls, or calls in which an extension takes part or rings. Such a call is sent
 * until its end, although most of its events no longer say that the extension rang.
 */
export function createCallFilter(extension: string | null): CallFilter {
  if (extension === null) return () => true
  const sent = new Set<string>()
  return (call, stages) => {
    const isOfExtension = sent.has(call.id) || extensionsOf(call, stages).includes(extension)
    if (isOfExtension && call.state !== 'ended') sent.add(call.id)
    else sent.delete(call.id)
    return isOfExtension
  }
}

/** Returns the stages that an event shows. */
export function stagesOf(data: CallEventBody['data']): readonly Stage[] {
  if ('stages' in data) return data.stages
  return 'stage' in data && data.stage !== null ? [data.stage] : []
}
