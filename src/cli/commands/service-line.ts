import { Command } from 'commander'
import { VERSION } from '../../lib/version.ts'
import type { EndProcess } from '../fatal-errors.ts'
import { serveCommand } from './serve.ts'

/** Creates the command line of the service, which has no other command. */
export function serviceLine(stopped: () => Promise<void>, end: EndProcess): Command {
  const program = new Command('hookswitch')
    .description('Call-event webhooks for Asterisk and FreeSWITCH: signed, in order, delivered.')
    .version(VERSION, '-V, --version')
    .configureOutput({ outputError: () => {} })
    .exitOverride()
  serveCommand(program, stopped, end)
  return program
}
