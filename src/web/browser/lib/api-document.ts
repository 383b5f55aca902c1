/** The parts of a JSON Schema that the documentation shows. */
export type Schema = {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  readonly description?: string
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly format?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly maxProperties?: number
}

export type Parameter = {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}

type Content = Readonly<Record<string, { readonly schema?: Schema; readonly example?: unknown }>>

export type Operation = {
  readonly operationId: string
  readonly summary?: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly security?: readonly unknown[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly required?: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>
}

export type ApiDocument = {
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly tags?: readonly { readonly name: string; readonly description?: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** An operation with the method and path by which it is called. */
export type ApiOperation = Operation & { readonly method: string; readonly path: string }

/** Returns the operations of each tag, in the order of the document. */
export function endpointsByTag(document: ApiDocument): ReadonlyMap<string, readonly ApiOperation[]> {
  const endpoints = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  )
  const order = (document.tags ?? []).map(({ name }) => name)
  const groups = Map.groupBy(endpoints, ({ tags }) => tags?.[0] ?? 'Other')
  return new Map([...groups].sort(([one], [other]) => order.indexOf(one) - order.indexOf(other)))
}

/** Returns the name of a named schema that is referred to. */
export const nameOf = (reference: string): string => reference.replace('#/components/schemas/', '')

/** Returns the schema behind a reference, or the schema itself. */
export function resolved(schema: Schema, document: ApiDocument): Schema {
  return schema.$ref === undefined ? schema : (document.components.schemas[nameOf(schema.$ref)] ?? {})
}

/** Returns the alternatives of a schema, `undefined` if it has none. A value must fit one alternative. */
export const choicesOf = ({ anyOf, oneOf }: Schema): readonly Schema[] | undefined => anyOf ?? oneOf

const MAX_EXAMPLE_DEPTH = 6

/** Returns a value that fits a schema, as the beginning of a request body; optional fields are left out. */
export function exampleOf(schema: Schema, document: ApiDocument, depth = 0): unknown {
  const whole = resolved(schema, document)
  const { examples, items, type, ...known } = whole
  const choices = choicesOf(whole)
  if (examples?.[0] !== undefined) return examples[0]
  if (known.default !== undefined) return known.default
  if (known.const !== undefined) return known.const
  if (known.enum?.[0] !== undefined) return known.enum[0]
  if (choices !== undefined) return exampleOf(choices[0] ?? {}, document, depth)
  if (type === 'array') return depth > MAX_EXAMPLE_DEPTH ? [] : [exampleOf(items ?? {}, document, depth + 1)]
  if (type === 'boolean') return true
  if (type === 'integer' || type === 'number') return known.minimum ?? 0
  if (type === 'null') return null
  if (type !== 'object') return ''
  const required = Object.entries(known.properties ?? {}).filter(([name]) => known.required?.includes(name))
  return Object.fromEntries(required.map(([name, field]) => [name, exampleOf(field, document, depth + 1)]))
}
