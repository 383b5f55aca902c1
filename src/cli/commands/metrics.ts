import type { Command } from 'commander'
import { grafanaDashboard } from '../../metrics/dashboard.ts'
import { print } from '../print.ts'

export function metricsCommand(program: Command): void {
  const metrics = program.command('metrics').description('what shows the metrics of serve --metrics-token')
  metrics
    .command('dashboard')
    .description('print a Grafana dashboard: Dashboards, New, Import')
    .action(() => print(JSON.stringify(grafanaDashboard(), null, 2)))
}
