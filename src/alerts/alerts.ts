// Notices to the operator about webhooks, PBXs, trunks and backups. Needs the states of others; decides nothing but
// when to say so.

export { type Alerts, createAlerts } from './alert-messages.ts'
export { startPbxAlerts } from './pbx-alerts.ts'
export { startTrunkAlerts } from './trunk-alerts.ts'
