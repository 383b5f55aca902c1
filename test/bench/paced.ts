import { bodyOf, startBenchService } from './delivery.ts'

/**
 * A service in its own process, so that no run leaves garbage for the next. Prints the latencies of one webhook at 200
 * events a second on standard output, in microseconds. Arguments: the URL of the healthy receiver, then the URLs that
 * hang.
 */
const PACED_MS = 4_000
const EVERY_MS = 5
/**
 * The interval of events for receivers that hang, out of step with EVERY_MS: 2,100 deliveries a second to 100
 * receivers.
 */
const DEAD_EVERY_MS = 47

const [well = '', ...dead] = process.argv.slice(2)
const service = await startBenchService(dead.length === 0 ? [[well]] : [[well], dead])
const body = bodyOf(1_024)
for (let n = 0; n < 500; n += 1) await service.emit(1, 1, body)
service.latencies.clear()
const endMs = performance.now() + PACED_MS
const emitEvery = async (account: number, everyMs: number) => {
  for (; performance.now() < endMs; await Bun.sleep(everyMs)) void service.emit(account, 1, body)
}
await Promise.all([emitEvery(1, EVERY_MS), dead.length > 0 && emitEvery(2, DEAD_EVERY_MS)])
console.log(JSON.stringify(service.latencies.get(1) ?? []))
// Ends without waiting ten seconds for the hanging requests.
process.exit(0)
