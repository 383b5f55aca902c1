import type { Command } from 'commander'
import { Fault } from '../../lib/fault.ts'
import { listenAddress } from '../../settings.ts'
import { print } from '../print.ts'

const ANSWER_WITHIN_MS = 2_500

/** For a container's health check, where there is no other program that could ask. */
export function healthCommand(program: Command): void {
  program
    .command('health')
    .description('ask the service that runs here whether it is well')
    .option('--listen <address>', 'where it listens', '127.0.0.1:8080')
    .action(async ({ listen }: { listen: string }) => {
      const { host, port } = listenAddress(listen)
      // Where every address is listened on, this one is.
      const name = { '0.0.0.0': '127.0.0.1', '::': '[::1]' }[host] ?? (host.includes(':') ? `[${host}]` : host)
      const status = await fetch(`http://${name}:${port}/health`, {
        proxy: false,
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      }).then(
        (response) => response.status,
        (cause) => {
          throw new Fault('unavailable', `nothing answers at ${listen}: is hookswitch serve running?`, { cause })
        },
      )
      if (status !== 200)
        throw new Fault('unavailable', `the service at ${listen} is not well (${status}): see its log`)
      print('The service is well.')
    })
}
