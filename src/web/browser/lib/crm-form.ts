import type { FieldError } from '../../../lib/fault.ts'
import type { NewWebhookOptions } from '../../../webhooks/webhooks.ts'
import { formatSentence } from './format.ts'
import type { CrmUser, FlowPreset, Phone, WebhookOptions } from './resources.ts'

/** A line of a map: the user of the CRM who has an extension. */
export type MapLine = { readonly extension: string; readonly user: string }
type Value = string | boolean | readonly MapLine[]

/** The parameters of a preset as a form holds them. Pure. */
export type CrmForm = {
  readonly url: string
  readonly preset: FlowPreset
  readonly values: Readonly<Record<string, Value>>
  /** The secrets that the server has: an empty field keeps them. */
  readonly stored: readonly string[]
}

type Parameter = FlowPreset['parameters'][number]
type Parameters = Readonly<Record<string, unknown>>

/** Returns the form of a preset with the parameters that are stored; a new one has its defaults. */
export function crmFormOf(preset: FlowPreset, url: string, parameters: Parameters = {}): CrmForm {
  const isStored = ({ name, type }: Parameter) => type === 'secret' && parameters[name] === null
  return {
    url,
    preset,
    values: Object.fromEntries(preset.parameters.map((one) => [one.name, initialValue(one, parameters[one.name])])),
    stored: preset.parameters
      .filter((one) => isStored(one) && Object.hasOwn(parameters, one.name))
      .map(({ name }) => name),
  }
}

function initialValue({ type, default: byDefault }: Parameter, given: unknown): Value {
  const value = given ?? byDefault
  if (type === 'map')
    return Object.entries(typeof value === 'object' && value !== null ? value : {}).map(([extension, user]) => ({
      extension,
      user: String(user),
    }))
  if (type === 'boolean') return value === true
  return typeof value === 'string' ? value : ''
}

/** Returns the text of a parameter; empty without one. */
export function fieldText({ values }: CrmForm, name: string): string {
  const value = values[name]
  return typeof value === 'string' ? value : ''
}

/** Returns the lines of a map. */
export function linesOf({ values }: CrmForm, name: string): readonly MapLine[] {
  const value = values[name]
  return typeof value === 'object' ? value : []
}

/** Returns the flow that a form describes. A `null` keeps the stored secret; an empty field is left out. */
export function flowOfForm(form: CrmForm): NonNullable<NewWebhookOptions['flow']> {
  const parameters = form.preset.parameters.flatMap((parameter): (readonly [string, unknown])[] => {
    const value = sentValue(form, parameter)
    return value === undefined ? [] : [[parameter.name, value]]
  })
  return { preset: form.preset.name, parameters: Object.fromEntries(parameters) }
}

function sentValue(form: CrmForm, { name, type }: Parameter): unknown {
  if (type === 'boolean') return form.values[name] === true
  if (type === 'map') {
    const lines = linesOf(form, name).map(({ extension, user }) => [extension.trim(), user.trim()] as const)
    const whole = lines.filter(([extension, user]) => extension !== '' && user !== '')
    return whole.length === 0 ? undefined : Object.fromEntries(whole)
  }
  const text = fieldText(form, name).trim()
  if (text !== '') return text
  return type === 'secret' && form.stored.includes(name) ? null : undefined
}

/** Returns missing and repeated values, as errors of `/url` and `/parameters/…`. */
export function findCrmErrors(form: CrmForm): FieldError[] {
  const url = /^https?:\/\/./i.test(form.url.trim())
    ? []
    : [{ path: '/url', message: 'Give the address of the CRM: https://…' }]
  return [
    ...url,
    ...form.preset.parameters.flatMap((parameter) => {
      const message = problemOf(form, parameter)
      return message === undefined ? [] : [{ path: `/parameters/${parameter.name}`, message }]
    }),
  ]
}

function problemOf(form: CrmForm, parameter: Parameter): string | undefined {
  const { name, title, type, required } = parameter
  if (required && sentValue(form, parameter) === undefined) return `${title} is missing.`
  if (type !== 'map') return undefined
  const lines = linesOf(form, name).map(({ extension, user }) => ({ extension: extension.trim(), user: user.trim() }))
  const extensions = lines.flatMap(({ extension }) => extension || [])
  const twice = extensions.find((one, at) => extensions.indexOf(one) !== at)
  if (twice !== undefined) return `Extension ${twice} is in the list twice.`
  const alone = lines.find(({ extension, user }) => extension !== '' && user === '')
  return alone === undefined ? undefined : `Extension ${alone.extension} has no user.`
}

/** Adds the users of a CRM to a map: with their extension where it is known and free, else without one. */
export function fillLines(lines: readonly MapLine[], users: readonly CrmUser[]): MapLine[] {
  const filled = lines.filter(({ extension, user }) => extension.trim() !== '' || user.trim() !== '')
  for (const { id, extension } of users) {
    const isFree = extension !== null && !filled.some((line) => line.extension.trim() === extension)
    const isThere = filled.some(({ user }) => user.trim() === id)
    if (!isThere) filled.push({ extension: isFree ? extension : '', user: id })
    else if (isFree) {
      const empty = filled.findIndex((line) => line.user.trim() === id && line.extension.trim() === '')
      if (empty >= 0) filled[empty] = { extension, user: id }
    }
  }
  return filled
}

type KnownPhone = Pick<Phone, 'extension' | 'name' | 'state'>

const PHONE_STATES = { registered: null, unregistered: 'not registered', unreachable: 'unreachable' } as const

/** Returns the name and state of the known phones with an extension; `undefined` if none is known. */
export function describePhone(extension: string, phones: readonly KnownPhone[]): string | undefined {
  const known = phones.filter((phone) => phone.extension === extension)
  if (known.length === 0) return undefined
  const texts = known.map(({ name, state }) => [name, PHONE_STATES[state]].filter((part) => part).join(', '))
  return [...new Set(texts.filter((text) => text !== ''))].join('; ')
}

/** Returns the extensions of the known phones that no line has, each once, with the name and state of the phone. */
export function offeredPhones(phones: readonly KnownPhone[], lines: readonly MapLine[]) {
  const taken = new Set(lines.map(({ extension }) => extension.trim()))
  const free = new Set(phones.map(({ extension }) => extension).filter((extension) => !taken.has(extension)))
  return Array.from(free, (extension) => ({ extension, text: describePhone(extension, phones) ?? '' }))
}

/** Returns the form of a webhook's stored flow; `null` without a flow of a known preset. */
export function storedCrmForm(presets: readonly FlowPreset[], options: WebhookOptions | null): CrmForm | null {
  const preset = presets.find(({ name }) => name === options?.flow?.preset)
  return preset === undefined || options === null ? null : crmFormOf(preset, options.url, options.flow?.parameters)
}

/** Returns whether a preset can check a key and list users: presets of CRMs can, and they look contacts up too. */
export const isCrm = ({ lookup }: FlowPreset): boolean => lookup

/** A part of the form: required access, access for some installations, users, and switches. */
type Group = 'access' | 'more' | 'users' | 'switches'

function groupOf({ name, type, required }: Parameter): Group {
  // The responsible user is chosen among the users of the map.
  if (type === 'map' || name === 'responsible') return 'users'
  if (type === 'boolean') return 'switches'
  return required || type === 'choice' ? 'access' : 'more'
}

/** Returns the parameters in a part of the form; the map of users comes before the responsible user. */
export const parametersIn = ({ parameters }: FlowPreset, group: Group): Parameter[] =>
  parameters
    .filter((one) => groupOf(one) === group)
    .toSorted((one, other) => Number(other.type === 'map') - Number(one.type === 'map'))

const accessParameters = (preset: FlowPreset): Parameter[] => [
  ...parametersIn(preset, 'access'),
  ...parametersIn(preset, 'more'),
]

/** Returns what decides whether the CRM accepts a request: the result of a check counts as long as this stays. */
export function accessKeyOf({ url, preset, values }: CrmForm): string {
  return JSON.stringify([preset.name, url.trim(), accessParameters(preset).map(({ name }) => values[name])])
}

/** Returns the errors of fields that have to be filled in before the CRM can be asked. */
export const findAccessErrors = (form: CrmForm): FieldError[] =>
  findCrmErrors(form).filter(
    ({ path }) => path === '/url' || accessParameters(form.preset).some(({ name }) => path === `/parameters/${name}`),
  )

/** Returns whether the field of an error has the same value in both forms. */
export function isSameField(path: string, form: CrmForm | null, next: CrmForm): boolean {
  if (path === '/url') return form?.url === next.url
  const name = path.split('/')[2] ?? ''
  return form?.values[name] === next.values[name]
}

/** Returns the errors of the API, each as a sentence at its field of the form, and the ones without a field. */
export function placeErrors(
  errors: readonly FieldError[],
  { parameters }: FlowPreset,
): { atFields: FieldError[]; others: FieldError[] } {
  const atFields: FieldError[] = []
  const others: FieldError[] = []
  for (const { path, message } of errors) {
    const place = path.replace(/^\/flow(?=\/)/, '')
    const parameter = parameters.find(({ name }) => `${place}/`.startsWith(`/parameters/${name}/`))
    if (place === '/url') atFields.push({ path: place, message: formatSentence(`The address ${message}`) })
    else if (parameter === undefined) others.push({ path: place, message })
    else {
      const sentence = formatSentence(`${parameter.title} ${message}`)
      atFields.push({ path: `/parameters/${parameter.name}`, message: sentence })
    }
  }
  return { atFields, others }
}
