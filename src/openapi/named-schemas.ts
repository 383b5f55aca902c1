import type { TSchema } from 'elysia'
import {
  AuthUser,
  ChangePassword,
  Login,
  NamedToken,
  NewToken,
  TokenInfo,
  TokenResult,
  UserTypeResource,
} from '../auth/auth.ts'
import { AnyBody, CallCounts, CallPage, EventList, FoundCall, ListedCall, ReadEvent } from '../calls/calls.ts'
import { NewContactSettings } from '../contacts/contacts.ts'
import { Delivery, DeliveryDetail, DeliveryPage, LoggedAttempt, Queued, Tested } from '../deliveries/deliveries.ts'
import {
  BODIES,
  Call,
  CallQueue,
  CallRecord,
  Contact,
  Hangup,
  Party,
  Recording,
  Stage,
  Transfer,
} from '../events/bodies.ts'
import { EVENT_NAMES, type EventKind } from '../events/kinds.ts'
import { Agent, Phone, Queue, Trunk } from '../events/states.ts'
import { Failure, FieldProblem } from '../http/envelope.ts'
import { PbxFinding, PbxInfo, PbxRequest } from '../pbx/pbx.ts'
import { Link } from '../recordings/routes.ts'
import { PresentAgent, PresentPhone, PresentQueue, PresentTrunk } from '../states/states.ts'
import {
  EventWithDeliveries,
  LastAttempt,
  LiveCall,
  Minute,
  Overview,
  PbxEndpoints,
  PbxStatus,
  TrafficPeriod,
  WebhookHealth,
  WebhookMinute,
} from '../web/web.ts'
import {
  AuthorizationProblem,
  NewWebhookOptions,
  PresetBody,
  Preview,
  PreviewRequest,
  Rotation,
  TemplateBody,
  UrlOnly,
  Webhook,
  WebhookBody,
  WebhookFilter,
  WebhookOptions,
  WebhookSecret,
} from '../webhooks/webhooks.ts'

/** Returns the name of the schema of a kind of event: `CallStarted`. */
export const bodyName = (kind: EventKind): string => kind.replace(/(?:^|_)(\w)/g, (_, letter) => letter.toUpperCase())

const BODY_SCHEMAS: Readonly<Record<string, TSchema>> = Object.fromEntries(
  EVENT_NAMES.map((kind) => [bodyName(kind), BODIES[kind]]),
)

/** Schemas with a name of their own, which generated types have too. */
export const NAMED_SCHEMAS: Readonly<Record<string, TSchema>> = {
  Failure,
  FieldError: FieldProblem,
  Login,
  AccessToken: TokenResult,
  User: AuthUser,
  UserType: UserTypeResource,
  PasswordChange: ChangePassword,
  Token: TokenInfo,
  NewToken,
  NamedToken,
  Webhook,
  WebhookUrl: UrlOnly,
  WebhookSecret,
  SecretRotation: Rotation,
  WebhookOptions,
  NewWebhookOptions,
  AuthorizationProblem,
  WebhookFilter,
  WebhookBody,
  PresetBody,
  TemplateBody,
  PreviewRequest,
  Preview,
  TestResult: Tested,
  Party,
  Contact,
  ContactSettings: NewContactSettings,
  Hangup,
  CallQueue,
  Call,
  Stage,
  Transfer,
  Recording,
  RecordingLink: Link,
  CallRecord,
  FoundCall,
  ListedCall,
  CallCounts,
  CallPage,
  ...BODY_SCHEMAS,
  EventBody: AnyBody,
  Event: ReadEvent,
  EventPage: EventList,
  Phone,
  Trunk,
  Agent,
  Queue,
  PresentPhone,
  PresentTrunk,
  PresentAgent,
  PresentQueue,
  Delivery,
  DeliveryDetail,
  DeliveryPage,
  Attempt: LoggedAttempt,
  Queued,
  Pbx: PbxInfo,
  PbxRequest,
  PbxFinding,
  Overview,
  LiveCall,
  PbxStatus,
  PbxEndpoints,
  WebhookHealth,
  LastAttempt,
  Minute,
  WebhookMinute,
  TrafficPeriod,
  EventWithDeliveries,
}

/** Schemas that are exactly one of others, though requests are checked by one with the fields of both. */
export const ALTERNATIVES: Readonly<Record<string, readonly string[]>> = { WebhookBody: ['PresetBody', 'TemplateBody'] }

export const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const message = (name: string, data: string, description: string) => ({
  type: 'object',
  description,
  required: ['event', 'data'],
  properties: {
    event: { const: name, description: 'The name of the message' },
    data: { ...reference(data), description: 'The data of the message, as JSON' },
  },
})

/** The messages of `GET /stream`, which no route checks. */
export const STREAM_SCHEMAS: Readonly<Record<string, object>> = {
  StreamMessage: {
    description: 'A message of the stream',
    anyOf: ['CallMessage', 'EventMessage', 'DeliveryMessage'].map(reference),
  },
  CallMessage: message('call', 'Call', 'A call that has changed. All live calls are sent first'),
  EventMessage: message('event', 'EventBody', 'An event that was stored: the body of its webhook requests'),
  DeliveryMessage: message('delivery', 'Delivery', 'A delivery that has changed'),
}
