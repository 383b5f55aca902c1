import type { PresetDirectory } from '../../../flows/setup/model.ts'

export type { AuditEntry } from '../../../auth/audit-entry.ts'
export type { AuthUser as User, NamedToken, TokenInfo } from '../../../auth/model.ts'
export type { ContactSettings } from '../../../contacts/model.ts'
export type {
  Delivery,
  DeliveryDetail,
  LoggedAttempt as Attempt,
  Tested as TestResult,
  TestedFlow as FlowTestResult,
} from '../../../deliveries/log/model.ts'
export type { Call, CallRecord, Contact, Party, Recording, Stage, Transfer } from '../../../events/bodies.ts'
export type { Agent, Phone, Queue, Trunk } from '../../../events/states.ts'
export type { CallPreview, FlowPreset, PresetCheck, PresetDirectory } from '../../../flows/setup/model.ts'
export type { PbxFinding, PbxInfo as Pbx } from '../../../pbx/watch/model.ts'
export type { DeliveryState } from '../../../store/operations/delivery-state.ts'
export type { Webhook, WebhookSecret } from '../../../webhooks/model.ts'
export type { Preview as WebhookPreview, WebhookOptions } from '../../../webhooks/options/model.ts'
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
