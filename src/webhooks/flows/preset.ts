import type { NewAuthorization, NewStep, Parameters, StepEvent } from './model.ts'

/** What a parameter of a preset holds; `map`: extension → user of the CRM. */
export const PARAMETER_TYPES = ['text', 'secret', 'boolean', 'choice', 'map'] as const

/** A parameter of a preset, from which the page makes the field of a form. */
export type PresetParameter = {
  readonly name: string
  readonly title: string
  readonly help: string
  readonly type: (typeof PARAMETER_TYPES)[number]
  readonly required: boolean
  /** `null`: none. */
  readonly default: string | boolean | Readonly<Record<string, string>> | null
  /** Of a `choice` alone. */
  readonly choices?: readonly { readonly value: string; readonly title: string }[]
}

/** A request of a preset, with its source and the answer that the vendor's documentation gives. */
type PresetStep = NewStep & {
  readonly source: string
  readonly answer: { readonly status: number; readonly body: unknown }
}

/** A request of a preset that belongs to no event, and the place of the values in its answer. */
export type PresetRequest = Omit<PresetStep, 'name' | 'on'>

/**
 * How the preset finds a contact by a number: `item`, `fault` and `fields` are pointers, the fields within the item. An
 * answer with a value at `fault` is an error, whatever its status.
 */
type PresetLookup = PresetRequest & {
  readonly item: string | ((parameters: Parameters) => string)
  readonly fault?: string
  readonly fields: Readonly<Partial<Record<'id' | 'name' | 'company' | 'url' | 'owner', string | readonly string[]>>>
  readonly spellings: readonly ('e164' | 'digits' | 'national' | 'last_10')[]
}
/**
 * How the preset lists the users of the CRM: `items` is a pointer to an array, the others are within an element. The
 * name is all parts of `name` that there are.
 */
export type PresetDirectoryRequest = PresetRequest & {
  readonly items: string
  readonly id: string
  readonly name: readonly string[]
  /** The extension of the user, where the CRM knows it. */
  readonly extension?: string
}

/** A flow that is part of the program. */
export type Preset = {
  readonly name: string
  readonly title: string
  readonly parameters: readonly PresetParameter[]
  readonly steps: readonly PresetStep[]
  readonly origins: readonly string[]
  /** Returns how requests are authorized, with the parameters of a webhook; `null`: by what steps and URL say. */
  readonly authorization: (parameters: Parameters) => NewAuthorization | null
  readonly parallel: number
  /** The requests a second that the vendor allows; `null`: it names no limit. */
  readonly maxPerSecond: number | null
  /** The kinds of event that its steps need. A PUT that chooses the preset switches them on. */
  readonly events: readonly StepEvent[]
  /** The pages of the vendor's documentation. */
  readonly sources: readonly string[]
  readonly lookup: PresetLookup | null
  readonly directory: PresetDirectoryRequest | null
  /** A request that changes nothing and shows that key and URL are right. */
  readonly check: PresetRequest | null
}
