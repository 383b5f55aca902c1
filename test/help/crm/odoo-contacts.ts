/** How Odoo compares numbers of contacts, as driven on Odoo 19 and 14 with the module Phone Numbers Validation. */

export type Partner = {
  readonly id: number
  readonly name: string
  readonly phone: string | false
  readonly mobile: string | false
  /** In E.164 if Odoo could tell the country and holds the number to be valid, else as it was typed. */
  readonly phone_sanitized: string | false
}

/** Returns a contact; without `phone_sanitized` one whose country Odoo does not know. */
export const partner = (one: Pick<Partner, 'id' | 'name' | 'phone'> & Partial<Partner>): Partner => ({
  mobile: false,
  phone_sanitized: one.phone,
  ...one,
})

/** The signs that Odoo leaves out when it compares numbers (PHONE_REGEX_PATTERN). */
const compared = (number: string): string => number.replace(/[\s\\./()-]/g, '')

const SHORTEST_SEARCH = 3

/** Returns whether a domain, in prefix notation, holds for a contact; throws what Odoo would answer to a wrong one. */
export function holds(domain: readonly unknown[], one: Partner, fields: readonly string[]): boolean {
  let at = 0
  const next = (): boolean => {
    const term = domain[at++]
    if (term === '|' || term === '&') {
      const [left, right] = [next(), next()]
      return term === '|' ? left || right : left && right
    }
    if (!Array.isArray(term)) throw new Error(`a domain that ends early: ${JSON.stringify(domain)}`)
    return leaf(term, one, fields)
  }
  let all = true
  while (at < domain.length) all = next() && all
  return all
}

function leaf([field, operator, value]: unknown[], one: Partner, fields: readonly string[]): boolean {
  if (field !== 'phone' && !fields.includes(String(field)))
    throw new Error(`Invalid field ${String(field)} on model res.partner`)
  if (field === 'phone_mobile_search' && operator === '=') return isFoundBy(String(value), one)
  if (field !== 'phone' && field !== 'mobile' && field !== 'phone_sanitized') throw new Error(`field ${String(field)}`)
  const has = one[field]
  switch (operator) {
    case '=':
      return has === value
    case '!=':
      return has !== value
    case 'in':
      return Array.isArray(value) && value.includes(has)
    case 'not like':
      return has === false || !has.includes(String(value))
    default:
      throw new Error(`operator ${String(operator)}`)
  }
}

function isFoundBy(value: string, { phone, mobile }: Partner): boolean {
  if (value.length < SHORTEST_SEARCH)
    throw new Error('Please enter at least 3 characters when searching a Phone/Mobile number.')
  const rest = compared(value.replace(/^(\+|00)/, ''))
  const wanted = /^(\+|00)/.test(value) ? [`00${rest}`, `+${rest}`] : [compared(value)]
  return [phone, mobile].some((number) => number !== false && wanted.includes(compared(number)))
}
