import { Type } from '@sinclair/typebox'
import { t } from 'elysia'
import { errorsOf, lazyValidator } from '../../http/validation.ts'
import type { FieldError } from '../../lib/fault.ts'
import { foreignJsonOf } from '../../lib/foreign-json.ts'
import {
  NAME_PATTERN,
  NewAuthorization,
  type NewFlow,
  NewRequest,
  NewStep,
  type Parameters,
  STEP_EVENTS,
} from '../model.ts'
import { PARAMETER_TYPES, type Preset, type PresetParameter, type PresetStep } from '../preset.ts'

/**
 * A preset as a file: JSON that says all that a built-in one says. What depends on a parameter is a template, in an
 * authorization of the form `{{ parameters.name }}` alone. Pure.
 */

const closed = { additionalProperties: false } as const
const text = t.String({ minLength: 1, maxLength: 2_000 })
const answer = {
  answer: t.Optional(t.Object({ status: Type.Integer({ minimum: 100, maximum: 599 }), body: t.Unknown() }, closed)),
}
const source = { source: t.Optional(text) }

const FileParameter = t.Object(
  {
    name: t.String({ pattern: NAME_PATTERN }),
    title: text,
    help: t.Optional(t.String({ maxLength: 2_000 })),
    type: t.UnionEnum(PARAMETER_TYPES, { default: undefined }),
    required: t.Optional(t.Boolean()),
    default: t.Optional(t.Union([t.String(), t.Boolean(), t.Record(t.String(), t.String()), t.Null()])),
    choices: t.Optional(t.Array(t.Object({ value: text, title: text }, closed), { minItems: 1 })),
    /** The form of a text, or of a map's values, and the sentence for other texts. */
    form: t.Optional(t.Object({ pattern: text, message: text }, closed)),
  },
  closed,
)
const FileStep = t.Object(
  {
    ...NewStep.properties,
    ...source,
    ...answer,
    in_turn: t.Optional(t.Object({ value: t.Union([t.String({ pattern: NAME_PATTERN }), t.Null()]) }, closed)),
  },
  closed,
)
const request = { ...NewRequest.properties, ...source, ...answer }
const pointer = t.String({ maxLength: 200, pattern: '^(/([^/~]|~[01])*)*$' })
const pointers = t.Union([pointer, t.Array(pointer, { minItems: 1 })])

const PresetFile = t.Object(
  {
    name: t.String({ pattern: NAME_PATTERN }),
    title: text,
    version: t.Optional(text),
    parameters: t.Optional(t.Array(FileParameter, { maxItems: 100 })),
    one_of: t.Optional(t.Array(t.Array(text, { minItems: 1 }), { minItems: 1 })),
    steps: t.Array(FileStep, { minItems: 1, maxItems: 20 }),
    events: t.Optional(t.Array(t.UnionEnum(STEP_EVENTS, { default: undefined }), { minItems: 1 })),
    origins: t.Optional(t.Array(text, { maxItems: 5 })),
    authorization: t.Optional(
      t.Object(
        {
          ...NewAuthorization.properties,
          if: t.Optional(t.String({ pattern: '^\\{\\{ parameters\\.[a-z][a-z0-9_]{0,39} \\}\\}$' })),
        },
        closed,
      ),
    ),
    parallel: t.Optional(Type.Integer({ minimum: 1, maximum: 16 })),
    max_per_second: t.Optional(t.Number({ exclusiveMinimum: 0, maximum: 1_000 })),
    lookup: t.Optional(
      t.Object(
        {
          ...request,
          item: pointer,
          fault: t.Optional(pointer),
          fields: t.Object(
            {
              id: t.Optional(pointers),
              name: t.Optional(pointers),
              company: t.Optional(pointers),
              url: t.Optional(pointers),
              owner: t.Optional(pointers),
            },
            { ...closed, minProperties: 1 },
          ),
          page: t.Optional(t.String({ maxLength: 500, pattern: '^(\\{origin\\}|https?://)' })),
          user: t.Optional(pointer),
          spellings: t.Array(t.UnionEnum(['e164', 'digits', 'national', 'last_10'], { default: undefined }), {
            minItems: 1,
          }),
        },
        closed,
      ),
    ),
    directory: t.Optional(
      t.Object(
        {
          ...request,
          items: pointer,
          id: pointer,
          name: t.Array(pointer, { minItems: 1 }),
          extension: t.Optional(pointer),
          logins: t.Optional(t.Array(pointer, { minItems: 1 })),
        },
        closed,
      ),
    ),
    check: t.Optional(t.Object(request, closed)),
    diagnosis: t.Optional(t.Object({ ...request, explanation: text }, closed)),
    rights: t.Optional(t.Object({ ...request, explanation: text }, closed)),
    expiry: t.Optional(t.Object({ ...request, explanation: text }, closed)),
    /** What to do about an answer, by its status. */
    advice: t.Optional(t.Record(t.String({ pattern: '^[1-5][0-9][0-9]$' }), text)),
    sources: t.Optional(t.Array(text)),
    tried: t.Optional(text),
    address: t.Optional(text),
  },
  closed,
)
type PresetFile = typeof PresetFile.static

const validator = lazyValidator(PresetFile)

/** Returns the preset in a file, or why it has no preset. `flowErrors` checks its steps like those of a flow. */
export function readPresetFile(
  content: string,
  flowErrors: (flow: NewFlow) => readonly FieldError[],
): { readonly preset: Preset } | { readonly errors: readonly FieldError[] } {
  const given = foreignJsonOf(content)
  if (given === undefined) return { errors: [{ path: '', message: 'is not JSON' }] }
  if (!validator().Check(given)) return { errors: errorsOf(validator().Errors(given)) }
  const errors = [
    ...parameterErrors(given),
    ...stepErrors(given),
    ...flowErrors(flowOf(given)).map((error) => ({ ...error, path: error.path.replace(/^\/flow/, '') })),
  ]
  return errors.length > 0 ? { errors } : { preset: presetOf(given) }
}

/** Returns the flow whose rules its steps have to meet. */
function flowOf({ steps, origins, authorization, parallel, lookup, directory, check }: PresetFile): NewFlow {
  const others = [lookup, directory, check].flatMap((one) => (one === undefined ? [] : [one]))
  const { if: _if, ...whole } = authorization ?? {}
  return {
    steps: [
      ...steps.map(({ source: _source, answer: _answer, in_turn: _inTurn, ...step }) => step),
      ...others.map(({ method, url, headers, content_type, body }, at) => ({
        name: `request_${at}`,
        on: ['call_ended' as const],
        ...present({ method, url, headers, content_type, body }),
      })),
    ],
    ...present({ origins, parallel }),
    ...(authorization === undefined ? {} : { authorization: withParameters(whole as NewAuthorization, SAMPLE) }),
  }
}

const present = <Fields extends object>(fields: Fields): { [Name in keyof Fields]: NonNullable<Fields[Name]> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Fields]: NonNullable<Fields[Name]>
  }

function parameterErrors({ parameters = [], one_of: oneOf = [] }: PresetFile): FieldError[] {
  const names = parameters.map(({ name }) => name)
  return [
    ...parameters.flatMap(({ name, type, choices, form, default: byDefault = null }, at): FieldError[] => {
      const path = `/parameters/${at}`
      const values = choices?.map(({ value }) => value) ?? []
      return [
        ...(names.indexOf(name) < at ? [{ path: `${path}/name`, message: 'is the name of another parameter' }] : []),
        ...(type === 'choice' && choices === undefined ? [{ path: `${path}/choices`, message: 'is missing' }] : []),
        ...(type !== 'choice' && choices !== undefined
          ? [{ path: `${path}/choices`, message: 'belongs to the type choice' }]
          : []),
        ...(isDefaultOf(type, byDefault, values) ? [] : [{ path: `${path}/default`, message: `is no ${type}` }]),
        ...(form === undefined || isPattern(form.pattern)
          ? []
          : [{ path: `${path}/form/pattern`, message: 'is no regular expression' }]),
      ]
    }),
    ...oneOf.flatMap((set, at) =>
      set.flatMap((name, place) =>
        names.includes(name) ? [] : [{ path: `/one_of/${at}/${place}`, message: 'is the name of no parameter' }],
      ),
    ),
  ]
}

function isDefaultOf(type: PresetParameter['type'], value: unknown, choices: readonly string[]): boolean {
  if (value === null) return true
  if (type === 'map') return typeof value === 'object'
  if (type === 'boolean') return typeof value === 'boolean'
  if (type === 'choice') return typeof value === 'string' && choices.includes(value)
  return type === 'text' && typeof value === 'string'
}

function isPattern(pattern: string): boolean {
  try {
    new RegExp(pattern)
    return true
  } catch {
    return false
  }
}

function stepErrors({ steps, events }: PresetFile): FieldError[] {
  const lacking = events === undefined ? [] : eventsOf(steps).filter((event) => !events.includes(event))
  return [
    ...(lacking.length === 0 ? [] : [{ path: '/events', message: `lacks ${lacking.join(', ')}, which begins a step` }]),
    ...steps.flatMap(({ in_turn: inTurn, keep = {} }, at) =>
      inTurn?.value == null || Object.hasOwn(keep, inTurn.value)
        ? []
        : [{ path: `/steps/${at}/in_turn/value`, message: 'is not among the values that the step keeps' }],
    ),
  ]
}

const eventsOf = (steps: PresetFile['steps']) =>
  STEP_EVENTS.filter((event) => steps.some(({ on }) => on.includes(event)))

function presetOf(file: PresetFile): Preset {
  const { name, title, parameters = [], steps, origins = [], parallel = 4, sources = [], lookup, directory } = file
  const { authorization, check, diagnosis, rights, expiry, advice, tried, address, one_of: oneOf } = file
  const { max_per_second: maxPerSecond = null } = file
  return {
    name,
    title,
    parameters: parameters.map(
      ({ help = '', required = false, default: byDefault = null, form, choices, ...rest }) => ({
        ...rest,
        help,
        required,
        default: byDefault,
        ...(choices === undefined ? {} : { choices }),
        ...(form === undefined ? {} : { form: { pattern: new RegExp(form.pattern), sentence: form.message } }),
      }),
    ),
    ...(oneOf === undefined ? {} : { oneOf }),
    steps: steps.map(presetStepOf),
    origins,
    authorization: (given) => authorizationFor(authorization, given),
    parallel,
    maxPerSecond,
    events: file.events ?? eventsOf(steps),
    sources,
    lookup: lookup === undefined ? null : { ...documented(lookup), ...lookup },
    directory: directory === undefined ? null : { ...documented(directory), ...directory },
    check: check === undefined ? null : { ...documented(check), ...check },
    ...(diagnosis === undefined ? {} : { diagnosis: { ...documented(diagnosis), ...diagnosis } }),
    ...(rights === undefined ? {} : { rights: { ...documented(rights), ...rights } }),
    ...(expiry === undefined ? {} : { expiry: { ...documented(expiry), ...expiry } }),
    ...(advice === undefined ? {} : { advice }),
    ...(tried === undefined ? {} : { tried }),
    ...(address === undefined ? {} : { address }),
  }
}

function presetStepOf({ in_turn: inTurn, ...step }: PresetFile['steps'][number]): PresetStep {
  return { ...documented(step), ...step, ...(inTurn === undefined ? {} : { inTurn }) }
}

/** The source and answer of a request that documents none: an answer that has every value that it keeps. */
function documented({ keep = {} }: { readonly keep?: Readonly<Record<string, string>> }) {
  const body: Record<string, unknown> = {}
  for (const [name, at] of Object.entries(keep)) setAt(body, at.split('/').slice(1), name)
  return { source: '', answer: { status: 200, body } }
}

function setAt(target: Record<string, unknown>, [key = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    target[key] = value
    return
  }
  const inner: unknown = target[key]
  const next = typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>) : {}
  target[key] = next
  setAt(next, rest, value)
}

/** The value of each parameter while a file is checked: valid in a URL, and as a text. */
const SAMPLE = new Proxy({}, { get: () => 'sample' })
const REFERENCE = /\{\{ parameters\.([a-z][a-z0-9_]{0,39}) \}\}/g

const filled = (template: string, given: Parameters): string =>
  template.replaceAll(REFERENCE, (_, name: string) => {
    const value = given[name]
    return typeof value === 'string' ? value : ''
  })

/** Fills parameters into the texts of an authorization. Those of the request of a log-in are templates themselves. */
function withParameters(authorization: NewAuthorization, given: Parameters): NewAuthorization {
  const { request: login, ...rest } = authorization
  const texts = Object.entries(rest).map(([name, value]) => [
    name,
    typeof value === 'string' ? filled(value, given) : value,
  ])
  // The names and the types of the values stay.
  return { ...(Object.fromEntries(texts) as NewAuthorization), ...(login === undefined ? {} : { request: login }) }
}

function authorizationFor(authorization: PresetFile['authorization'], given: Parameters): NewAuthorization | null {
  if (authorization === undefined) return null
  const { if: condition, ...whole } = authorization
  if (condition !== undefined && filled(condition, given) === '') return null
  return withParameters(whole, given)
}
