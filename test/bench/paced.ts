import { bodyOf, startBenchService } from './delivery.ts'

/**
 * A service in a process of its own, so that nothing of one run is left for the next: tells the latencies of one webhook at 200 events a
 * second on standard output, in microseconds. Arguments: the URL that is well, then those that hang.
 */
const PACED_MS = 4_000
const EVERY_MS = 5
/** To those that hang goes an event with every so many: 2,000 deliveries a second to 100 of them. */
const EVERY_NTH = 10

const [well = '', ...dead] = process.argv.slice(2)
const service = await startBenchService(dead.length === 0 ? [[well]] : [[well], dead])
const body = bodyOf(1_024)
for (let n = 0; n < 500; n += 1) await service.tell(1, 1, body)
service.latencies.clear()
const endMs = performance.now() + PACED_MS
for (let n = 0; performance.now() < endMs; n += 1) {
  void service.tell(1, 1, body)
  if (dead.length > 0 && n % EVERY_NTH === 0) void service.tell(2, 1, body)
  await Bun.sleep(EVERY_MS)
}
console.log(JSON.stringify(service.latencies.get(1) ?? []))
// What hangs is left to hang: its ten seconds are not waited for.
process.exit(0)
