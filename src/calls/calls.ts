// Calls: makes events of signals (tracker/), stores them (ingest/), reads them back (api/). Knows neither the words of
// a PBX nor contacts nor webhooks.

export { type Erased, eraseRoutes } from './api/erase.ts'
export { createEventReader } from './api/event-reader.ts'
export { newEvent, type UrlOf } from './api/event-records.ts'
export { eventRoutes, ReadEvent } from './api/event-routes.ts'
export { findCallsOfNumber } from './api/number-search.ts'
export { CallPage, callRoutes, FoundCall } from './api/routes.ts'
export { createStoredFacts } from './api/stored-facts.ts'
export { extensionsOf } from './call-facts.ts'
export { createToE164 } from './e164.ts'
export { type AccountDirectory, newAccountDirectory } from './ingest/account-directory.ts'
export { createBatchWriter } from './ingest/batch-writer.ts'
export { startCallRetention } from './ingest/call-retention.ts'
export { startIngest } from './ingest/ingest.ts'
export { type CallOwners, openTracker } from './ingest/open-tracker.ts'
export { requestChannel } from './request-channel.ts'
export type {
  AboutSnapshot,
  Activity,
  At,
  ChannelSignal,
  End,
  Endpoint,
  Signal,
  SnapshotChannel,
  Translator,
} from './signal.ts'
export { reasonFor } from './tracker/emit/reasons.ts'
export type { Tenants } from './tracker/state/account-decision.ts'
export type { RequestedCall } from './tracker/state/requested-calls.ts'
export { type LiveCall, newTracker, track } from './tracker/tracker.ts'
