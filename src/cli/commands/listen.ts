import { type Command, Option } from 'commander'
import { portProblem } from '../../http/server.ts'
import { Fault } from '../../lib/fault.ts'
import { harmless, newPaint, type Paint } from '../../lib/terminal-text.ts'
import { wrongUsage } from '../../lib/usage.ts'
import { jsonOption, wholeNumber } from '../options.ts'
import { print, printError, printJson } from '../print.ts'
import { readEvent } from '../read-event.ts'
import { faultOf, type ReceivedRequest, type ReceiverAnswer, startReceiver } from '../receiver.ts'
import { requestLine, type SignatureVerdict } from '../request-line.ts'

type Flags = { port: string; host: string; secret?: string; answer?: string; json?: boolean }

/** The format of a secret in `GET /integration/webhook/secret`. */
const SECRET = /^whsec_[A-Za-z0-9+/]{16,}={0,2}$/

/** Adds `hookswitch listen`. */
export function listenCommand(program: Command, stopped: () => Promise<void>): void {
  program
    .command('listen')
    .description('run a receiver for development: print each request and verify its signature')
    .option('--port <port>', 'the port to listen on', '9000')
    // `serve` has HOOKSWITCH_HOST already, for another purpose.
    .addOption(
      new Option('--host <address>', 'the address to listen on').default('127.0.0.1').env('HOOKSWITCH_LISTEN_HOST'),
    )
    .option(
      '--secret <secret>',
      "the URL's signing secret (whsec_…): requests with a wrong signature are answered with 401",
    )
    .option('--answer <status>', 'the status of all responses, also for wrong signatures')
    .addOption(jsonOption())
    .action(async (flags: Flags) => {
      const { secret, host, json = false } = flags
      const port = wholeNumber('--port', flags.port, { least: 0, most: 65_535 })
      const asked =
        flags.answer === undefined ? undefined : wholeNumber('--answer', flags.answer, { least: 200, most: 599 })
      if (secret !== undefined && !SECRET.test(secret))
        throw wrongUsage('--secret (HOOKSWITCH_SECRET) is not a signing secret: copy it from the web page (whsec_…)')
      const paint = newPaint()
      const receiver = listening({ host, port }, (request) => {
        const verdict = verdictOf(request, secret)
        if (json) printJson({ ...request, signature: verdict })
        else for (const line of linesOf(paint, request, verdict)) print(line)
        return answerOf(asked, verdict)
      })
      const stop = stopped()
      const ready = `hookswitch listens on ${receiver.url}`
      if (json) printError(ready)
      else for (const line of [ready, ...hints(secret)]) print(line)
      await stop
      await receiver.stop()
    })
}

function hints(secret: string | undefined): string[] {
  return [
    'Any path works. A service on this machine needs --allow-net loopback to send here.',
    ...(secret === undefined ? ['Signatures are not verified: add --secret whsec_… to verify them.'] : []),
    '',
  ]
}

/** Returns the response of a careful receiver: it refuses a wrong signature, which also shows the retries. */
function answerOf(asked: number | undefined, verdict: SignatureVerdict): ReceiverAnswer | undefined {
  if (asked !== undefined) return { status: asked, text: 'as configured' }
  return verdict.kind === 'wrong' ? { status: 401, text: verdict.why } : undefined
}

function verdictOf(request: ReceivedRequest, secret: string | undefined): SignatureVerdict {
  if (secret === undefined) return { kind: 'unchecked' }
  const why = faultOf(request, secret)
  return why === undefined ? { kind: 'right' } : { kind: 'wrong', why }
}

/** The headers that are printed; the others are about HTTP only. */
const PRINTED_HEADERS = [
  'user-agent',
  'content-type',
  'authorization',
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
]

function linesOf(paint: Paint, request: ReceivedRequest, verdict: SignatureVerdict): string[] {
  const { method, path, headers, body } = request
  const shown = PRINTED_HEADERS.flatMap((name) =>
    headers[name] === undefined ? [] : [`${name}: ${harmless(headers[name])}`],
  )
  const details = [`${method} ${harmless(path)}`, ...shown, ...pretty(body)]
  return [
    requestLine(paint, request, readEvent(body), verdict),
    ...details.map((line) => paint('dim', `    ${line}`)),
    '',
  ]
}

function pretty(body: string): string[] {
  try {
    return JSON.stringify(JSON.parse(body), null, 2).split('\n').map(harmless)
  } catch {
    return body.split('\n').map(harmless)
  }
}

function listening(place: Parameters<typeof startReceiver>[0], onRequest: Parameters<typeof startReceiver>[1]) {
  try {
    return startReceiver(place, onRequest)
  } catch (cause) {
    const problem = portProblem(place)?.replace(/--listen\b.*/, '--port')
    throw new Fault('unavailable', problem ?? `cannot listen on ${place.host}:${place.port}: try again`, { cause })
  }
}
