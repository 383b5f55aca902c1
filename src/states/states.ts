// Phones, trunks, agents and queues: changes of signals (board/), their events (ingest/), lists (api/).

export { listInSlices, type PresentAt, presentOfRows } from './api/present-list.ts'
export { PresentAgent, PresentPhone, PresentQueue, PresentTrunk, stateRoutes } from './api/routes.ts'
export { storedStates } from './api/stored-states.ts'
export type { BoardOptions, PhoneDevice } from './board/board.ts'
export type { Present } from './board/subject.ts'
export { startDiscovery } from './discovery/discovery.ts'
export { startStateIngest } from './ingest/state-ingest.ts'
export type { ContactFact, DeviceFact, EndpointEntry, StateList, StateSignal } from './signal.ts'
