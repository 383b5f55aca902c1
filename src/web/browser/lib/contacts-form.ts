import type { NewContactSettings } from '../../../contacts/contacts.ts'
import type { FieldError } from '../../../lib/fault.ts'
import { type HeaderLine, headerLinesOf, headersOfLines } from './header-lines.ts'

type Spelling = NonNullable<NewContactSettings['spellings']>[number]
type FieldName = keyof NonNullable<NewContactSettings['fields']>
type Method = NonNullable<NewContactSettings['method']>

/** The fields of a contact, with an example of a pointer. */
export const CONTACT_FIELDS: readonly { readonly name: FieldName; readonly label: string; readonly example: string }[] =
  [
    { name: 'name', label: 'Name', example: '/name' },
    { name: 'company', label: 'Company', example: '/company/name' },
    { name: 'id', label: 'Id', example: '/id' },
    { name: 'url', label: 'Link', example: '/link' },
    { name: 'owner', label: 'Extension of the owner', example: '/owner/extension' },
  ]

/** How a number is written, in the order of trying. */
export const SPELLING_CHOICES: readonly { readonly spelling: Spelling; readonly label: string }[] = [
  { spelling: 'e164', label: '+4930123456' },
  { spelling: 'digits', label: '4930123456' },
  { spelling: 'national', label: '030123456' },
  { spelling: 'last_10', label: 'The last 10 digits' },
]
const SPELLINGS = SPELLING_CHOICES.map(({ spelling }) => spelling)

/** The form of a look-up with a URL of its own. Pure. */
export type ContactsForm = {
  readonly url: string
  /** Empty: GET, or POST with a body. */
  readonly method: Method | ''
  readonly headers: readonly HeaderLine[]
  readonly body: string
  readonly item: string
  readonly fields: Readonly<Record<FieldName, string>>
  readonly spellings: readonly Spelling[]
  readonly budgetMs: string
  readonly cacheMinutes: string
  /** Not shown in the form, and kept as it is. */
  readonly authorization: NonNullable<NewContactSettings['authorization']> | null
}

/** Returns the form of stored settings. Without a URL of their own its fields are empty. */
export function contactsFormOf(settings: NewContactSettings | null): ContactsForm {
  const own = settings?.preset === undefined ? settings : null
  const fields = own?.fields ?? {}
  return {
    url: own?.url ?? '',
    method: own?.method ?? '',
    headers: headerLinesOf(own?.headers ?? {}),
    body: own?.body ?? '',
    item: own?.item ?? '',
    fields: { name: '', company: '', id: '', url: '', owner: '', ...fields },
    spellings: own?.spellings ?? SPELLINGS,
    budgetMs: textOf(settings?.budget_ms),
    cacheMinutes: textOf(settings?.cache_minutes),
    authorization: own?.authorization ?? null,
  }
}

const textOf = (value: number | undefined): string => (value === undefined ? '' : String(value))

/** Returns the settings that a form describes, to be sent. */
export function contactSettingsOf(form: ContactsForm): NewContactSettings {
  const { url, method, body, item, authorization } = form
  const fields = CONTACT_FIELDS.flatMap(({ name }) => {
    const pointer = form.fields[name].trim()
    return pointer === '' ? [] : [[name, pointer] as const]
  })
  return {
    url: url.trim(),
    ...(method === '' ? {} : { method }),
    headers: headersOfLines(form.headers),
    body: body.trim() === '' ? null : body,
    authorization,
    item: item.trim(),
    fields: Object.fromEntries(fields),
    spellings: [...form.spellings],
    ...waitingOf(form),
  }
}

/** Returns how long calls wait and how long answers count; an empty text is the default. */
export const waitingOf = ({ budgetMs, cacheMinutes }: Pick<ContactsForm, 'budgetMs' | 'cacheMinutes'>) => ({
  ...(budgetMs.trim() === '' ? {} : { budget_ms: Number(budgetMs) }),
  ...(cacheMinutes.trim() === '' ? {} : { cache_minutes: Number(cacheMinutes) }),
})

/** Returns the errors that the API would not find, or not at a field of the form. */
export function findContactsErrors(form: ContactsForm, isOwn: boolean): FieldError[] {
  const numbers = [
    { path: '/budget_ms', text: form.budgetMs },
    { path: '/cache_minutes', text: form.cacheMinutes },
  ]
  const wrong = numbers.flatMap(({ path, text }) =>
    Number.isNaN(Number(text)) ? [{ path, message: `${text} is not a number.` }] : [],
  )
  if (!isOwn) return wrong
  const { fields, spellings } = contactSettingsOf(form)
  const pointers = [
    { path: '/item', text: form.item.trim() },
    ...CONTACT_FIELDS.map(({ name }) => ({ path: `/fields/${name}`, text: form.fields[name].trim() })),
  ]
  return [
    ...(/^https?:\/\/./i.test(form.url.trim()) ? [] : [{ path: '/url', message: 'Give a URL: https://…' }]),
    ...(Object.keys(fields ?? {}).length > 0
      ? []
      : [{ path: '/fields', message: 'Give the pointer of at least one field.' }]),
    ...pointers.flatMap(({ path, text }) =>
      text === '' || text.startsWith('/') ? [] : [{ path, message: `A pointer begins with a slash: /${text}` }],
    ),
    ...((spellings ?? []).length > 0 ? [] : [{ path: '/spellings', message: 'Choose at least one spelling.' }]),
    ...wrong,
  ]
}
