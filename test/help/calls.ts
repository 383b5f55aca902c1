import type { Call, Party, Stage } from '../../src/events/bodies.ts'
import { EXAMPLES } from '../../src/events/samples.ts'

const [RINGING, STAGE] = (() => {
  for (const { data } of EXAMPLES) if (data.name === 'dial_started') return [data.call, data.stage]
  throw new Error('there is no example of dial_started')
})()

/** Returns a party with only a number. */
export const partyOf = (number: string, extension: string | null = null): Party => ({
  number,
  name: null,
  extension,
  e164: null,
  contact: null,
})

/** Returns an inbound call that rings. */
export const ringingCall = (id: string, given: Partial<Call> & Pick<Call, 'from' | 'to' | 'started_at'>): Call => ({
  ...RINGING,
  id,
  pbx_id: id,
  did: given.to.number,
  ...given,
})

/** Returns the stage of an extension that rings. */
export const ringingStage = (id: string, given: Partial<Stage> & Pick<Stage, 'started_at'>): Stage => ({
  ...STAGE,
  id,
  target: id,
  name: null,
  ...given,
})
