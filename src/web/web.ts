// The page: its files, overview and event stream (server/), and what runs in the browser (browser/). Has no rules that
// the API lacks.

export { type Node, WebhookHealth } from './model.ts'
export { startAccountState } from './server/account-state.ts'
export { loadAssets } from './server/assets.ts'
export { createDeliveryCounts } from './server/delivery-counts.ts'
export { startStreams, streamRoutes } from './server/event-stream.ts'
export { createLastHour } from './server/last-hour.ts'
export { startLastHourSaver } from './server/last-hour-saver.ts'
export { overviewRoutes } from './server/overview.ts'
export { pageRoutes } from './server/page-routes.ts'
