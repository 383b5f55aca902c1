// The catalog of metrics, their measurement, and the dashboard.

export { grafanaDashboard } from './dashboard.ts'
export { createMetrics } from './measurement.ts'
