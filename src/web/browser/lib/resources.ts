import type { CallPage as CallPageSchema, FoundCall, ReadEvent as ReadEventSchema } from '../../../calls/calls.ts'
import type { PresetDirectory } from '../../../flows/flows.ts'
import type { PresentAgent, PresentPhone, PresentQueue, PresentTrunk } from '../../../states/states.ts'

export type { AuditEntry, AuthUser as User, NamedToken, TokenInfo } from '../../../auth/auth.ts'
export type { ContactSettings } from '../../../contacts/contacts.ts'
export type {
  Delivery,
  DeliveryDetail,
  LoggedAttempt as Attempt,
  Tested as TestResult,
  TestedFlow as FlowTestResult,
} from '../../../deliveries/deliveries.ts'
export type { Call, Contact, Party, Recording, Stage, Transfer } from '../../../events/bodies.ts'
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
  TrafficPeriod,
  WebhookHealth,
  WebhookMinute,
} from '../../model.ts'

/** The record of a call, with its PBX. */
export type CallRecord = (typeof FoundCall)['static']
export type Phone = (typeof PresentPhone)['static']
export type Trunk = (typeof PresentTrunk)['static']
export type Agent = (typeof PresentAgent)['static']
export type Queue = (typeof PresentQueue)['static']
export type CallPage = (typeof CallPageSchema)['static']
/** A call of the list, with its PBX. */
export type CallItem = CallPage['items'][number]
/** An event with its body. */
export type ReadEvent = (typeof ReadEventSchema)['static']

export type CrmUser = PresetDirectory['users'][number]

/** One page of a list; `next_cursor` is null on the last. */
export type Page<T> = { items: T[]; next_cursor: string | null }
