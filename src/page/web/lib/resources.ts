import type { Call, CallRecord, Transfer } from '../../../calls/event.ts'

export type { Call, CallRecord, Party, Recording, Stage, Transfer } from '../../../calls/event.ts'
export type { LiveCall, Minute, Overview, PbxStatus, WebhookHealth } from '../../model.ts'

export type DeliveryState = 'pending' | 'delivered' | 'failed' | 'cancelled'

export type Delivery = {
  id: string
  event_id: string
  event: string
  call_id: string
  url: string
  state: DeliveryState
  attempts_made: number
  next_attempt_at: string | null
  created_at: string
  delivered_at: string | null
}

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
  'call_ended',
  'call_saved',
  'dial_started',
  'dial_answered',
  'dial_ended',
  'call_transferred',
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

/** One event of a call: what was told, when, and to whom. */
export type ToldEvent = {
  id: string
  name: string
  sequence: number
  at: string
  transfer: Transfer | null
  deliveries: Delivery[]
}

export type CallPage = Paged<Call>
export type OneCall = CallRecord
