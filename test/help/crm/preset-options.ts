import type { CallEvent } from '../../../src/events/bodies.ts'
import { FURTHER_NAMES } from '../../../src/events/kinds.ts'
import { separateSecrets } from '../../../src/flows/flow-secrets.ts'
import { presetByName } from '../../../src/flows/presets/catalog.ts'
import { secretParametersOf } from '../../../src/flows/setup/flow-option.ts'
import { DEFAULT_OPTIONS } from '../../../src/store/webhook-options.ts'
import { usersOf } from './check.ts'
import type { CrmStub } from './server.ts'

/** Returns the flow of a preset for a stub, and the options of its webhook as they are stored. */
export function presetOptionsOf(stub: CrmStub, name: string, events: readonly CallEvent[]) {
  const preset = presetByName(name)
  if (preset === undefined) throw new Error(`there is no preset ${name}`)
  const whole = { preset: name, parameters: { ...stub.parameters, users: usersOf(stub, events) } }
  const { flow, secrets } = separateSecrets(whole, secretParametersOf(whole))
  const given = Object.entries(secrets).flatMap(([key, value]) => (value === null ? [] : [[key, value] as const]))
  const options = {
    ...DEFAULT_OPTIONS,
    events: FURTHER_NAMES.filter((kind) => preset.events.some((one) => one === kind)),
    flow,
    flowSecrets: Object.fromEntries(given),
  }
  return { preset, whole, options }
}

/** An authorizer that has the header of a stub. */
export function authorizerOf({ authorization: header = '' }: CrmStub) {
  const authorize = async () => ({ header })
  return { authorize, renew: authorize, authorizeTrial: authorize }
}

const FILE = new TextEncoder().encode('RIFF of a recording')

/** Opens the file of every recording. */
export const openAnyRecording = async () => ({
  size: FILE.byteLength,
  mediaType: 'audio/wav',
  read: () => new Blob([FILE]).stream(),
  close: async () => {},
})
