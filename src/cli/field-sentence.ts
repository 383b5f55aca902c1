import { INVALID } from '../http/validation.ts'
import { Fault, type FieldError } from '../lib/fault.ts'

// On a command line there is no list of errors beside the message: each error is a sentence that names its field.

/** How a person gave a field, by the pointer to it. */
const SUBJECTS: readonly (readonly [RegExp, string])[] = [
  [/^\/body\/parameters\/(.+)$/, '--parameter $1=…'],
  [/^\/body\/template$/, '--template'],
  [/^\/body\/content_type$/, '--content-type'],
  [/^\/max_per_second$/, '--max-per-second'],
  [/^\/(name|headers|filter|flow)$/, '--$1'],
  [/^\/filter\/([\w/]+)$/, '--filter: $1'],
  [/^\/headers\/(.+)$/, '--headers: $1'],
  [/^\/flow\/parameters\/(.+)$/, '--flow: the parameter $1'],
  [/^\/flow\/preset$/, '--flow: the preset'],
  [/^\/flow\/(.+)$/, '--flow: the field $1'],
  [/^\/parameters\/(.+)$/, 'the parameter $1'],
  [/^\/preset$/, 'the preset'],
  [/^\/url$/, 'the URL'],
  [/^\/(.+)$/, 'the field $1'],
]

/** Messages that go on after the name of their field; others are sentences of their own. */
const GOES_ON = /^(is|are|has|have|must|may|cannot|can|does|names|needs|starts|ends|matches) /

/** What a person at a terminal reads in place of a route of the API. */
const inCommands = (message: string, path: string): string =>
  message
    .replace('GET /integration/webhook/preset lists them', 'hookswitch webhook preset lists them')
    .replace('/docs describes it', `hookswitch help ${path.startsWith('/flow') ? 'flows' : 'webhooks'} describes it`)

/** Returns an error as a sentence that names its field; an error of the whole has an empty path. */
function fieldSentence({ path, message }: FieldError): string {
  const [pattern, subject] = SUBJECTS.find(([one]) => one.test(path)) ?? []
  const said = inCommands(message, path)
  if (pattern === undefined || subject === undefined) return said
  const named = path
    .replace(pattern, subject)
    .replaceAll(/\/(\d+)(?=\/|$)/g, '[$1]')
    .replaceAll(/(?<=[\w\]])\/(?=\w)/g, '.')
  return `${named}${GOES_ON.test(said) ? '' : ':'} ${said}`
}

/** Returns the message of an error for a terminal. A message of its own stands; the general one names no field. */
export function messageInFields(error: unknown): string {
  if (error instanceof Fault && error.message === INVALID && error.errors.length > 0)
    return error.errors.map(fieldSentence).join('; ')
  return error instanceof Error ? error.message : String(error)
}
