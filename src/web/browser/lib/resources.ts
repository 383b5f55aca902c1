import type { PresetDirectory } from '../../../flows/flows.ts'

export type { AuditEntry, AuthUser as User, NamedToken, TokenInfo } from '../../../auth/auth.ts'
export type { ContactSettings } from '../../../contacts/contacts.ts'
export type {
  Delivery,
  DeliveryDetail,
  LoggedAttempt as Attempt,
  Tested as TestResult,
  TestedFlow as FlowTestResult,
} from '../../../deliveries/deliveries.ts'
export type { Call, CallRecord, Contact, Party, Recording, Stage, Transfer } from '../../../events/bodies.ts'
export type { Agent, Phone, Queue, Trunk } from '../../../events/states.ts'
export type { CallPreview, FlowPreset, PresetCheck, PresetDirectory } from '../../../flows/flows.ts'
export type { PbxFinding, PbxInfo as Pbx } from '../../../pbx/pbx.ts'
export type { DeliveryState } from '../../../store/operations/delivery-state.ts'
export type { Preview as WebhookPreview, Webhook, WebhookOptions, WebhookSecret } from '../../../webhooks/webhooks.ts'
export type {
  EventWithDeliveries,
  LiveCall,
  Minute,
  Node,
  Overview,
  PbxStatus,
  WebhookHealth,
  WebhookMinute,
} from '../../model.ts'

export type CrmUser = PresetDirectory['users'][number]

/** One page of a list; `next_cursor` is null on the last. */
export type Page<T> = { items: T[]; next_cursor: string | null }
