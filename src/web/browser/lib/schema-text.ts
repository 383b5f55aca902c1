import { choicesOf, nameOf, type Schema } from './api-document.ts'

/** A type in words; the names of schemas are links of their own. */
type TypePart = { readonly text: string; readonly schema?: string }

/** Returns the type of a schema in words: `array of Webhook`, `string or null`. */
export function typeParts(schema: Schema): readonly TypePart[] {
  if (schema.$ref !== undefined) return [{ text: nameOf(schema.$ref), schema: nameOf(schema.$ref) }]
  const choices = choicesOf(schema)
  if (choices !== undefined)
    return choices.flatMap((one, at) => [...(at === 0 ? [] : [{ text: ' or ' }]), ...typeParts(one)])
  if (schema.const !== undefined) return [{ text: JSON.stringify(schema.const) }]
  if (schema.type === 'array') return [{ text: 'array of ' }, ...typeParts(schema.items ?? {})]
  if (schema.type === undefined) return [{ text: schema.enum === undefined ? 'any' : 'string' }]
  return [{ text: [schema.type].flat().join(' or ') }]
}

/** Returns the further conditions of a value, each in a few words. */
export function limitsOf(schema: Schema): readonly string[] {
  const { format, pattern, minimum, maximum, uniqueItems, maxProperties } = schema
  const inner = choicesOf(schema)?.filter(({ type, $ref }) => type !== 'null' && $ref === undefined) ?? []
  return [
    ...(format === undefined ? [] : [format]),
    ...range(schema.minLength, schema.maxLength, 'characters'),
    ...range(minimum, maximum, ''),
    ...range(schema.minItems, schema.maxItems, 'items'),
    ...(uniqueItems ? ['each once'] : []),
    ...(maxProperties === undefined ? [] : [`at most ${maxProperties} fields`]),
    ...(pattern === undefined ? [] : [`pattern ${pattern}`]),
    ...(schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`]),
    ...(schema.enum === undefined ? [] : [schema.enum.map((value) => JSON.stringify(value)).join(', ')]),
    ...inner.flatMap(limitsOf),
    ...(schema.items === undefined || schema.items.$ref !== undefined ? [] : limitsOf(schema.items)),
  ]
}

const count = (value: number) => value.toLocaleString('en')

function range(from: number | undefined, to: number | undefined, unit: string): string[] {
  const words = unit === '' ? '' : ` ${unit}`
  if (from !== undefined && to !== undefined) return [`${count(from)} to ${count(to)}${words}`]
  if (from !== undefined) return [`at least ${count(from)}${words}`]
  return to === undefined ? [] : [`at most ${count(to)}${words}`]
}

/** Returns the schemas whose fields are listed below a field: of an object, of the items of a list, of a choice. */
export function objectsIn(schema: Schema): readonly Schema[] {
  if (schema.$ref !== undefined) return []
  const choices = choicesOf(schema)
  if (choices !== undefined) return choices.flatMap(objectsIn)
  if (schema.items !== undefined) return objectsIn(schema.items)
  return schema.properties === undefined ? [] : [schema]
}
