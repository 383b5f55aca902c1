import type { Command } from 'commander'
import { grafanaDashboard } from '../../metrics/metrics.ts'
import { print } from '../print.ts'

/** Adds `hookswitch metrics`. */
export function metricsCommand(program: Command): void {
  const metrics = program.command('metrics').description('print dashboards for the metrics of serve --metrics-token')
  metrics
    .command('dashboard')
    .description('print a Grafana dashboard (in Grafana: Dashboards, New, Import)')
    .action(() => print(JSON.stringify(grafanaDashboard(), null, 2)))
}
