import type { StateView } from '../../events/state-sentence.ts'

/** The parts of a body (events/bodies.ts) that presets and MQTT topics use. */
export type EventView = { readonly time: string; readonly data: EventData }

type EventData = StateView & {
  readonly id: string
  readonly account: string
  readonly pbx?: string
  readonly call?: CallView
  readonly stage?: StageView | null
  readonly transfer?: TransferView
  readonly by?: PartyView | null
}
export type PartyView = {
  readonly number: string | null
  readonly name: string | null
  readonly extension: string | null
}
export type CallView = {
  readonly id: string
  readonly direction: string
  readonly from: PartyView
  readonly to: PartyView
  readonly queue: { readonly name: string } | null
  readonly result: string | null
  readonly duration: number | null
  readonly talk_duration: number | null
  readonly answered_by: PartyView | null
  readonly missed?: boolean | null
  /** The parties in order; the last one is the owner of the call. */
  readonly handled_by?: readonly PartyView[]
}
export type StageView = {
  readonly kind: string
  readonly target: string | null
  readonly name: string | null
  readonly result: string | null
  readonly talk_duration: number | null
}
export type TransferView = { readonly by: PartyView; readonly to: PartyView }

/** Parses a stored body, which this program wrote. */
export const viewOf = (body: string): EventView => JSON.parse(body)
