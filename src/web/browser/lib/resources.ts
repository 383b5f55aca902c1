import type { Call, CallRecord } from '../../../calls/event.ts'
import type { Delivery } from '../../../deliveries/model.ts'

export type { AuthUser as User } from '../../../auth/model.ts'
export type { Call, CallRecord, Party, Recording, Stage, Transfer } from '../../../calls/event.ts'
export type {
  Delivery,
  DeliveryDetail,
  LoggedAttempt as Attempt,
  Tested as TestResult,
} from '../../../deliveries/model.ts'
export type { Webhook, WebhookSecret } from '../../../webhooks/model.ts'
export type { LiveCall, Minute, Overview, PbxStatus, ToldEvent, WebhookHealth } from '../../model.ts'

export type DeliveryState = Delivery['state']

export const SWITCHES = [
  'call_started',
  'call_transferred',
  'call_ended',
  'call_saved',
  'dial_started',
  'dial_answered',
  'dial_ended',
] as const
export type Switch = (typeof SWITCHES)[number]

export type Paged<T> = { items: T[]; next_cursor: string | null }

export type CallPage = Paged<Call>
export type OneCall = CallRecord
