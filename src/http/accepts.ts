import { Elysia } from 'elysia'
import { Fault } from '../lib/fault.ts'

/** Refuses with 406 a request whose `Accept` header excludes JSON (RFC 9110, 12.5.1). */
export const accepts = new Elysia({ name: 'accepts' }).onTransform({ as: 'scoped' }, ({ headers }) => {
  refuseUnlessJson(headers.accept)
})

/** Returns the same for routes that have another type of response, too. */
export const acceptsAlso = (type: string) =>
  new Elysia({ name: `accepts also ${type}` }).onTransform({ as: 'scoped' }, ({ headers }) => {
    if (headers.accept?.toLowerCase().includes(type) !== true) refuseUnlessJson(headers.accept)
  })

/** @throws Fault 406. */
function refuseUnlessJson(header: string | undefined): void {
  if (header !== undefined && !acceptsJson(header))
    throw new Fault(
      'not_acceptable',
      'Responses are application/json only: send Accept: application/json, or no Accept header.',
    )
}

/** Returns whether an `Accept` header allows application/json. The most specific media range decides. */
function acceptsJson(header: string): boolean {
  if (header === '*/*' || header === 'application/json' || header.trim() === '') return true
  let best = { rank: -1, quality: 0 }
  for (const range of header.split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    const rank = RANK.indexOf(type)
    if (rank > best.rank) best = { rank, quality: qualityOf(parameters) }
  }
  return best.quality > 0
}

/** From the least specific range to the most specific. */
const RANK = ['*/*', 'application/*', 'application/json']

function qualityOf(parameters: readonly string[]): number {
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
  return weight === undefined ? 1 : Number(weight) || 0
}
