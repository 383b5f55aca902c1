import { Value } from '@sinclair/typebox/value'
import { BODIES, type EventBody } from '../events/bodies.ts'
import type { EventKind } from '../events/kinds.ts'

const isEventKind = (name: unknown): name is EventKind => typeof name === 'string' && Object.hasOwn(BODIES, name)

/** Reads the body of a webhook request; `undefined` if it is not a call event that matches the schemas. */
export function readEvent(text: string): EventBody | undefined {
  try {
    const body: unknown = JSON.parse(text)
    const name: unknown = Object(Object(body).data).name
    if (!isEventKind(name)) return undefined
    const schema: (typeof BODIES)[EventKind] = BODIES[name]
    return Value.Check(schema, body) ? body : undefined
  } catch {
    return undefined
  }
}
