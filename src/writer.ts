import * as auth from './auth/store.ts'
import * as calls from './calls/store.ts'
import * as probe from './db/probe.ts'
import { registryOf, serveWriter } from './db/writer.ts'
import * as clock from './deliveries/clock-store.ts'
import * as outbox from './deliveries/outbox.ts'
import * as prune from './deliveries/prune-store.ts'
import * as records from './deliveries/record-store.ts'
import * as retries from './deliveries/retry-store.ts'
import * as webhooks from './webhooks/store.ts'

declare const self: Worker

// Every file that exports mutations is named here: the thread finds them by name.
serveWriter(registryOf([auth, calls, clock, outbox, probe, prune, records, retries, webhooks]), self)
