import type { PresetParameter, ValueForm } from '../preset.ts'

/** Parameters that several presets have. */

/** The ids of a CRM that numbers its users. */
export const NUMERIC_ID: ValueForm = { pattern: /^[1-9]\d{0,18}$/, sentence: 'must be the id of a user: a number' }

type OfUsers = { readonly form?: ValueForm }

export const users = ({ form }: OfUsers = {}): PresetParameter => ({
  name: 'users',
  title: 'Users',
  help: 'The CRM user of each extension',
  type: 'map',
  required: false,
  default: null,
  ...(form === undefined ? {} : { form }),
})

/** Returns the parameter for the user who gets calls that no other user owns. */
export const responsible = (
  what: string,
  { required = false, form }: OfUsers & { readonly required?: boolean } = {},
): PresetParameter => ({
  name: 'responsible',
  title: 'Responsible user',
  help: `${what} of the user who gets the calls of extensions without a user, and unanswered calls`,
  type: 'text',
  required,
  default: null,
  ...(form === undefined ? {} : { form }),
})

export const secretKey = (name: string, title: string, help: string): PresetParameter => ({
  name,
  title,
  help,
  type: 'secret',
  required: true,
  default: null,
})

/** Returns the parameter for a key that is not always needed. */
export const optionalKey = (name: string, title: string, help: string): PresetParameter => ({
  ...secretKey(name, title, help),
  required: false,
})

export const yesNo = (name: string, title: string, help: string, byDefault: boolean): PresetParameter => ({
  name,
  title,
  help,
  type: 'boolean',
  required: false,
  default: byDefault,
})

export const createsContacts = (byDefault: boolean): PresetParameter =>
  yesNo('create', 'Create contacts', 'Create a contact when a caller is not found', byDefault)
