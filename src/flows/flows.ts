// Several requests for one event, as data: machine, turns, presets, authorization, setup. Neither delivers nor
// retries.

export { createAuthorizer } from './authorization/authorizer.ts'
export { createLoginRenderer } from './authorization/login-renderer.ts'
export type { AuthorizedWebhook, Authorizer } from './authorizer.ts'
export { MAX_SHOWN_CHARACTERS, previewFlow } from './flow-preview.ts'
export { joinSecrets, type Separated, secretMask, secretsOfHeaders, separateSecrets } from './flow-secrets.ts'
export { hasCredentials, headerErrors, pointerTo } from './header-rules.ts'
export {
  type Authorization,
  authorizationOf,
  type Flow,
  flowOfSteps,
  MAX_ANSWER_BYTES,
  NAME_PATTERN,
  NewAuthorization,
  NewFlow,
  STEP_DEFAULTS,
  STEP_EVENTS,
  Step,
  type StepEvent,
  stepOf,
} from './model.ts'
export { allPresets, setPresetsOfFiles } from './presets/catalog.ts'
export { flowOf, flowOfPreset, flowPresetOf, presetIsGone, secretParametersOf } from './setup/flow-option.ts'
export { flowErrors, flowRefusals, requestAuthorizationErrors } from './setup/flow-rules.ts'
export { flowProblems } from './setup/flow-trial.ts'
export { CallPreview, FlowPreset, PresetCheck, PresetDirectory, PresetTrial } from './setup/model.ts'
export { loadPresetFolder } from './setup/preset-folder.ts'
export { shownPresets } from './setup/service.ts'
export { setupApi } from './setup/setup-api.ts'
export { createStepRenderer, type StepRenderer } from './step-renderer.ts'
export { newStepRequests, type SendStep, type StepRequest } from './step-request.ts'
export { joinStepUrl } from './step-url.ts'
export { createFlowTurns, type FlowWebhook, type MakeTurn, type TurnAttempted } from './turn.ts'
export type { TurnRecord } from './turn-record.ts'
