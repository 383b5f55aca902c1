import type { NewAuthorization, NewStep, Parameters, StepEvent } from './model.ts'

/** The types of a preset's parameters; `map`: extension → user of the CRM. */
export const PARAMETER_TYPES = ['text', 'secret', 'boolean', 'choice', 'map'] as const

/** How a text must look, and the sentence for other texts. */
export type ValueForm = { readonly pattern: RegExp; readonly sentence: string }

/** A parameter of a preset, from which the page makes the field of a form. */
export type PresetParameter = {
  readonly name: string
  readonly title: string
  readonly help: string
  readonly type: (typeof PARAMETER_TYPES)[number]
  readonly required: boolean
  /** `null`: no default. */
  readonly default: string | boolean | Readonly<Record<string, string>> | null
  /** Only present for a `choice`. */
  readonly choices?: readonly { readonly value: string; readonly title: string }[]
  /** The form of a text, or of a map's values; absent: any text. */
  readonly form?: ValueForm
}

/** A request of a preset, with its source and the answer in the vendor's documentation. */
export type PresetStep = NewStep & {
  readonly source: string
  /**
   * Only for a step that creates a contact: calls of one number send it in turn. `value` is the kept value that a later
   * call takes over in place of its own request; `null`: the CRM finds the contact at once, and a later call looks once
   * more if the step has `again`.
   */
  readonly inTurn?: { readonly value: string | null }
  readonly answer: { readonly status: number; readonly body: unknown }
}

/** A request of a preset that belongs to no event, and where its answer has the values. */
export type PresetRequest = Omit<PresetStep, 'name' | 'on'>

/** How the preset finds a contact by a number: `item` and `fields` are pointers, the fields start at the item. */
type PresetLookup = PresetRequest & {
  readonly item: string | ((parameters: Parameters) => string)
  readonly fault?: string
  readonly fields: Readonly<Partial<Record<'id' | 'name' | 'company' | 'url' | 'owner', string | readonly string[]>>>
  readonly spellings: readonly ('e164' | 'digits' | 'national' | 'last_10')[]
  /**
   * The page of the record in the CRM: `{origin}` is the webhook's, `{/id}` what the item has there, `{/type:lower}`
   * the same in lower case.
   */
  readonly page?: string | ((parameters: Parameters) => string)
  /** Where the item has the responsible user, whose extension is the first with that user in the map of users. */
  readonly user?: string
}
/**
 * How the preset lists the users of the CRM: `items` points to an array, the others start at an element. The user's
 * name has all parts of `name` that exist.
 */
export type PresetDirectoryRequest = PresetRequest & {
  readonly items: string
  readonly id: string
  readonly name: readonly string[]
  /** The user's extension, if the CRM has one. */
  readonly extension?: string
  /** Where an element has a log-in or an e-mail address, by which a phone of the PBX may be known to be the user's. */
  readonly logins?: readonly string[]
}

/**
 * A request whose answer explains why calls would fail: `explanation` is a template with `answer`, `status` (of the
 * check) and `parameters`; it renders to nothing where there is nothing to explain.
 */
export type Explaining = PresetRequest & { readonly explanation: string }

/** A flow that is part of the program. */
export type Preset = {
  readonly name: string
  readonly title: string
  readonly parameters: readonly PresetParameter[]
  /** Sets of optional parameters, of which one must be given whole. */
  readonly oneOf?: readonly (readonly string[])[]
  readonly steps: readonly PresetStep[]
  readonly origins: readonly string[]
  /** Returns the authorization of requests for a webhook's parameters; `null` if the steps and the URL have it. */
  readonly authorization: (parameters: Parameters) => NewAuthorization | null
  readonly parallel: number
  /** The requests per second that the vendor allows; `null`: no known limit. */
  readonly maxPerSecond: number | null
  /** The events that its steps need. A PUT that chooses the preset switches them on. */
  readonly events: readonly StepEvent[]
  /** The pages of the vendor's documentation. */
  readonly sources: readonly string[]
  /** An example of the webhook's URL; absent: the guide names it. */
  readonly address?: string
  /** The versions of the real system with which it was tried; absent: none, it follows the documentation. */
  readonly tried?: string
  readonly lookup: PresetLookup | null
  readonly directory: PresetDirectoryRequest | null
  /** A request that changes nothing and shows whether the key and URL are right. */
  readonly check: PresetRequest | null
  /** After a failed check: names the wrong parameter. */
  readonly diagnosis?: Explaining
  /** After a good check: names what the user of the key may not do, without which calls would fail. */
  readonly rights?: Explaining
  /** After a good check: says how long the key works, a warning. */
  readonly expiry?: Explaining
  /** What to do about an answer, by its status, where the usual advice names the wrong cause. */
  readonly advice?: Readonly<Record<number, string>>
}
