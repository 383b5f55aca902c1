import type { WebhookOptionsRecord } from '../../store/operations/webhooks.ts'
import { joinSecrets, type SecretParameters } from '../flow-secrets.ts'
import {
  authorizationOf,
  type BrokenFlow,
  type Flow,
  flowOfSteps,
  type NewFlow,
  type Parameters,
  stepOf,
} from '../model.ts'
import type { Preset } from '../preset.ts'
import { presetByName } from '../presets/catalog.ts'

/** Returns the secret parameters of a flow's preset; none for a flow of steps. */
export const secretParametersOf = ({ preset }: Pick<NewFlow, 'preset'>): SecretParameters =>
  flowPresetOf(preset)?.parameters.filter(({ type }) => type === 'secret') ?? []

/** Returns the preset of a flow, if it has one. */
export const flowPresetOf = (name: string | undefined): Preset | undefined =>
  name === undefined ? undefined : presetByName(name)

/** Returns the flow of a webhook with its secrets; `null` if it has none. */
export function flowOf({
  flow,
  flowSecrets,
}: Pick<WebhookOptionsRecord, 'flow' | 'flowSecrets'>): Flow | BrokenFlow | null {
  if (flow === null) return null
  // It was checked against the schema before it was stored.
  const stored = flow as NewFlow
  const whole = joinSecrets(stored, secretParametersOf(stored), flowSecrets)
  if (stored.preset === undefined) return flowOfSteps(whole)
  const preset = presetByName(stored.preset)
  if (preset !== undefined) return flowOfPreset(preset, whole.parameters ?? {})
  return { problem: presetIsGone(stored.preset) }
}

/** Returns the problem of a webhook whose preset there is not. */
export const presetIsGone = (name: string): string =>
  `there is no preset ${name} here: put its file back into the folder of presets, upgrade, or choose another`

/** Returns the flow of a preset with its parameters; an empty text counts as absent. */
export function flowOfPreset(preset: Preset, given: Parameters): Flow {
  const defaults = preset.parameters.map((one) => [one.name, one.default] as const)
  const set = Object.entries(given).filter(([, value]) => value !== null && value !== '')
  const parameters = { ...Object.fromEntries(defaults), ...Object.fromEntries(set) }
  const authorization = preset.authorization(parameters)
  return {
    steps: preset.steps.map(({ source: _source, answer: _answer, inTurn: _inTurn, ...step }) => stepOf(step)),
    origins: preset.origins,
    authorization: authorization === null ? null : authorizationOf(authorization),
    parallel: preset.parallel,
    maxPerSecond: preset.maxPerSecond,
    parameters,
    seesOutsideCalls: true,
    inTurn: new Map(preset.steps.flatMap(({ name, inTurn }) => (inTurn === undefined ? [] : [[name, inTurn.value]]))),
  }
}
