import { INVALID } from '../../http/validation.ts'
import { Fault } from '../../lib/fault.ts'

/** Values that the body of an event must have: each by its path below `data`, compared as text. */
export type BodyFilter = readonly { readonly path: readonly string[]; readonly value: string }[]

const PREFIX = 'body.'
const MOST = 3
const PATH = /^\w+(\.\w+)*$/

/** Returns the filter in a query: `body.call.from.number=…`; `undefined` without any. @throws Fault `invalid`. */
export function bodyFilterOf(query: Readonly<Record<string, unknown>>): BodyFilter | undefined {
  const given = Object.entries(query).filter(([name]) => name.startsWith(PREFIX))
  if (given.length === 0) return undefined
  const problems = given.flatMap(([name, value], at) => {
    const problem = problemOf(name.slice(PREFIX.length), value, at)
    return problem === undefined ? [] : [{ path: `/${name}`, message: problem }]
  })
  if (problems.length > 0) throw new Fault('invalid', INVALID, { errors: problems })
  return given.map(([name, value]) => ({ path: name.slice(PREFIX.length).split('.'), value: String(value) }))
}

function problemOf(path: string, value: unknown, at: number): string | undefined {
  if (at >= MOST) return `is one too many: ${MOST} values of the body at most`
  if (!PATH.test(path)) return 'must name a value of the body below data, such as body.call.from.number'
  return typeof value === 'string' ? undefined : 'must be given once'
}

/** Returns whether the text of a body has all values of a filter; erased bodies and other texts have none of them. */
export function matchesBody(filter: BodyFilter, body: string): boolean {
  let data: unknown
  try {
    data = JSON.parse(body).data
  } catch {
    return false
  }
  return filter.every(({ path, value }) => textAt(data, path) === value)
}

/** Returns the text, number or truth value at a path; `undefined` for anything else. */
function textAt(data: unknown, path: readonly string[]): string | undefined {
  let found = data
  for (const key of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined
    found = Object.entries(found).find(([one]) => one === key)?.[1]
  }
  return typeof found === 'object' || found === undefined ? undefined : String(found)
}

/**
 * Refuses a filter by body on other routes than the list: to ignore the filter would send all deliveries again.
 * @throws Fault 422.
 */
export function refuseBodyFilter(given: Readonly<Record<string, unknown>> | undefined): void {
  const errors = Object.keys(given ?? {})
    .filter((name) => name.startsWith(PREFIX))
    .map((name) => ({
      path: `/${name}`,
      message: 'is a filter of the list alone: retry the deliveries that it shows by their ids',
    }))
  if (errors.length > 0) throw new Fault('invalid', INVALID, { errors })
}
