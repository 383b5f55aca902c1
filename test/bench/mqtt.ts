import { join } from 'node:path'
import { OWNS_EVERYTHING } from '../../src/cluster/ownership.ts'
import { createAttempts } from '../../src/deliveries/mqtt/attempts.ts'
import { startDispatcher } from '../../src/deliveries/run/dispatcher.ts'
import { newEmitter } from '../../src/deliveries/run/emitter.ts'
import { silent } from '../../src/deliveries/sending/observer.ts'
import { openClock } from '../../src/store/clock.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { allowing, LOG } from '../deliveries/run/rig.ts'
import { emptyFolder } from '../help/app.ts'
import { NO_FLOWS } from '../help/deliveries.ts'
import { MOSQUITTO, startMosquitto } from '../help/mosquitto.ts'
import { TEMPLATES } from '../help/templates.ts'
import { makeBacklog } from './backlog.ts'
import { bodyOf } from './delivery.ts'
import { atLeast, figure, type Row } from './table.ts'

const DELIVERIES = 50_000

/** Deliveries from a store to one webhook at Mosquitto, each acknowledged and recorded. */
export async function benchMqtt(): Promise<Row[]> {
  if (MOSQUITTO === undefined) return [figure('by MQTT', Number.NaN, '', 'Mosquitto is not installed')]
  using folder = emptyFolder()
  // A log line per message would cost more than the message.
  await using broker = await startMosquitto({ logs: 'error' })
  const path = join(folder.path, 'hookswitch.db')
  makeBacklog(path, DELIVERIES, [`mqtt://127.0.0.1:${broker.port}/calls/{event}/{extension}`], bodyOf(1_024))
  const store = openSqliteStore(path, {
    thread: () => new Worker(new URL('../../src/app/writer.ts', import.meta.url).href),
  })
  const clock = await openClock({ maintenance: store.maintenance, log: LOG })
  const { attempt, stop } = createAttempts({ allow: allowing('loopback') })
  let delivered = 0
  let failed = 0
  const startedMs = performance.now()
  const dispatcher = startDispatcher({
    templates: TEMPLATES,
    ownership: OWNS_EVERYTHING,
    store,
    clock,
    emitter: newEmitter(),
    makeTurn: NO_FLOWS,
    attempt,
    log: LOG,
    observer: {
      ...silent,
      ended({ attempted: { outcome } }) {
        if (outcome.kind === 'delivered') delivered += 1
        else failed += 1
      },
    },
  })
  while (delivered < DELIVERIES) await Bun.sleep(5)
  const perSecond = DELIVERIES / ((performance.now() - startedMs) / 1_000)
  await dispatcher.stop()
  await stop()
  await store.stop()
  return [
    atLeast(
      'acknowledged a second by MQTT, one webhook',
      2_000,
      perSecond,
      `${DELIVERIES} at Mosquitto, ${failed} failed`,
    ),
  ]
}
