import * as calls from '../store/sqlite/calls.ts'
import * as declared from '../store/sqlite/declared-mutations.ts'
import * as probe from '../store/sqlite/engine/write-probe.ts'
import { registryOf, serveWriter } from '../store/sqlite/engine/writer.ts'
import * as outcomes from '../store/sqlite/outcomes.ts'
import * as retention from '../store/sqlite/retention.ts'
import * as retries from '../store/sqlite/retries.ts'

declare const self: Worker

// Every file of the engine that exports mutations is registered here, because the thread finds mutations by name. A
// test checks it.
serveWriter(registryOf([calls, declared, outcomes, probe, retention, retries]), self)
