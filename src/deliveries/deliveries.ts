// Deliveries: queues (queue/, pure), the dispatcher (run/), an attempt (sending/, mqtt/), the log (log/). Does not
// know what an event means.

export { deliveryApi } from './log/delivery-api.ts'
export {
  Delivery,
  DeliveryDetail,
  DeliveryPage,
  LoggedAttempt,
  NewReplay,
  Tested,
  TestedFlow,
} from './log/model.ts'
export { startPruner } from './log/pruner.ts'
export { deliveryOf } from './log/service.ts'
export { readSubjects, sentenceOfBody } from './log/subject.ts'
export { type BrokerConnection, connectToBroker } from './mqtt/broker-connection.ts'
export { createBrokerConnector } from './mqtt/broker-connector.ts'
export { startArrivals } from './run/arrivals.ts'
export { startDispatcher } from './run/dispatcher.ts'
export type { Dispatcher } from './run/dispatcher-run.ts'
export { type Emitter, newEmitter } from './run/emitter.ts'
export { type RefusalWatch, startRefusalWatch } from './run/refusal-watch.ts'
export { startReplayFeeder } from './run/replay-feeder.ts'
export { createRequests, type Requests } from './run/requests.ts'
export { combinedObserver, newAttemptLog, type Observer, silent } from './sending/observer.ts'
