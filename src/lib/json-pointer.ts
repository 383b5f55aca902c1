/** Returns the value at a JSON pointer (RFC 6901) in parsed JSON, `undefined` if the pointer leads nowhere. */
export function valueAt(json: unknown, pointer: string): unknown {
  if (pointer === '') return json
  let value = json
  for (const part of pointer.slice(1).split('/')) {
    if (typeof value !== 'object' || value === null) return undefined
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(value) && !/^(0|[1-9]\d{0,9})$/.test(key)) return undefined
    value = Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined
  }
  return value
}

/** Returns a name as a part of a JSON pointer. */
export const pointerPart = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')
