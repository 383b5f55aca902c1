import type { Call, CallRecord } from '../../../calls/event.ts'
import type { Delivery } from '../../model.ts'

export type { Call, CallRecord, Party, Recording, Stage, Transfer } from '../../../calls/event.ts'
export type { Delivery, LiveCall, Minute, Overview, PbxStatus, ToldEvent, WebhookHealth } from '../../model.ts'

export type DeliveryState = Delivery['state']

export type Attempt = {
  at: string
  status: number | null
  duration_ms: number | null
  error: string | null
  address: string | null
  response: string | null
}

export type DeliveryDetail = Delivery & { body: string; attempts: Attempt[] }

export type Webhook = { url: string } & Record<Switch, boolean>

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

export type WebhookSecret = { url: string; secret: string; previous_until: string | null }

export type TestResult = {
  status: number | null
  duration_ms: number | null
  error: string | null
  response: string | null
}

export type User = {
  id: number
  name: string
  email: string
  type: { number: number; name: string }
  created_at: string
}

export type Paged<T> = { items: T[]; next_cursor: string | null }

export type CallPage = Paged<Call>
export type OneCall = CallRecord
