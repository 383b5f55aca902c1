import type { Command } from 'commander'
import { listenAddress } from '../../app/settings.ts'
import { Fault } from '../../lib/fault.ts'
import { print } from '../print.ts'

const ANSWER_WITHIN_MS = 2_500

/** Adds `hookswitch health`, for the health check of a container without curl. */
export function healthCommand(program: Command): void {
  program
    .command('health')
    .description('check the health of the service on this machine')
    .option('--listen <address>', 'the address of the service', '127.0.0.1:8080')
    .action(async ({ listen }: { listen: string }) => {
      const { host, port } = listenAddress(listen)
      // A service that listens on all addresses also listens on this one.
      const name = { '0.0.0.0': '127.0.0.1', '::': '[::1]' }[host] ?? (host.includes(':') ? `[${host}]` : host)
      const status = await fetch(`http://${name}:${port}/health`, {
        proxy: false,
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      }).then(
        (response) => response.status,
        (cause) => {
          throw new Fault('unavailable', `no service answers at ${listen}: is hookswitch serve running?`, { cause })
        },
      )
      if (status !== 200)
        throw new Fault('unavailable', `the service at ${listen} is not healthy (${status}): see its log`)
      print('The service is healthy.')
    })
}
