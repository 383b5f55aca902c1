import type { Call, CallRecord, Party, Stage } from '../events/bodies.ts'
import type { CallFacts } from '../store/operations/calls.ts'

/** A longer text would make an index large: nobody searches for the hundredth phone that rang by its name. */
const MAX_TEXT_CHARS = 2_000

/** Returns the parties that took part in a call. */
const partiesOf = ({ from, to, answered_by: answered, handled_by: handled }: Call): Party[] => [
  from,
  to,
  ...(answered === null ? [] : [answered]),
  ...handled,
]

/** Returns the extensions that took part in a call or rang. `stages`: the known stages of the call. */
export const extensionsOf = (call: Call, stages: readonly Stage[]): string[] => [
  ...[...partiesOf(call), ...call.missed_by].flatMap(({ extension }) => extension ?? []),
  ...stages.flatMap(({ kind, target }) => (kind === 'user' && target !== null ? [target] : [])),
]

export function callFactsOf(pbx: string | null, { call, stages }: CallRecord): CallFacts {
  const parties = partiesOf(call)
  const numbers = [call.from, call.to].flatMap(({ number, e164 }) => [number ?? '', e164 ?? ''])
  const texts = [
    ...parties.flatMap(textsOf),
    call.did ?? '',
    ...stages.flatMap(({ target, name }) => [target ?? '', name ?? '']),
  ]
  return {
    pbx,
    result: call.result,
    missed: call.missed === true,
    who: [
      spaced(extensionsOf(call, stages)),
      spaced(numbers),
      distinct(texts).join('\n').slice(0, MAX_TEXT_CHARS),
    ].join('\n'),
  }
}

const distinct = (texts: readonly string[]): string[] => [...new Set(texts)].filter((text) => text !== '')
const spaced = (texts: readonly string[]): string => ` ${distinct(texts).join(' ')} `

const textsOf = ({ number, name, e164, contact }: Party): string[] => [
  number ?? '',
  name ?? '',
  e164 ?? '',
  contact?.name ?? '',
  contact?.company ?? '',
]

type Who = Pick<CallFacts, 'who'>

const lineHas = ({ who }: Who, line: number, text: string): boolean =>
  (who.split('\n', line + 1)[line] ?? '').includes(` ${text} `)

export const hasExtension = (facts: Who, extension: string): boolean => lineHas(facts, 0, extension)

/** Returns whether a call was from or to a number, as the PBX spells it or in E.164. */
export const hasNumber = (facts: Who, number: string): boolean => lineHas(facts, 1, number)

/** Returns whether a number or a name of those who took part contains a text, in whichever case. */
export const mentions = ({ who }: Who, text: string): boolean => who.toLowerCase().includes(text.toLowerCase())
