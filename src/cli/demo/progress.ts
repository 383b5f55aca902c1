import type { Paint } from '../../lib/terminal-text.ts'
import type { ReceivedRequest } from '../receiver.ts'
import { requestLine } from '../request-line.ts'
import type { Entry } from './checklist.ts'
import { nextSteps, ownName } from './next-steps.ts'
import type { Played } from './recordings.ts'

type Place = {
  readonly url: string
  readonly webhook: string
  readonly email: string
  readonly password: string
}

/** The output of the demo. */
type Progress = {
  open(place: Place): void
  begin(played: Played): void
  received(request: ReceivedRequest, entry: Entry): void
  close(missing: readonly string[]): void
  goOn(url: string): void
}

type Options = { readonly paint: Paint; readonly bodies: boolean; print(line: string): void }

/** Creates the output of the demo. */
export function newProgress({ paint, bodies, print }: Options): Progress {
  return {
    open({ url, webhook, email, password }) {
      print(
        paint(
          'bold',
          'Hookswitch sends your systems an event for every step of every call on your PBX, as signed webhooks.',
        ),
      )
      print('')
      print('This is an end-to-end demo: recorded calls of two real PBXs are played to it over TCP.')
      print(`Its webhook is ${webhook}, a receiver in this demo. Each line below is a POST request`)
      print('that arrived there: time, signature, event, what happened, and the delay since it happened.')
      print('')
      print(`  web page  ${paint('bold', url)}      API  ${url}/docs`)
      print(`  log in    ${paint('bold', email)}  with the password  ${paint('bold', password)}`)
    },
    begin({ title, pbx }) {
      print('')
      print(`${paint('bold', title)} ${paint('dim', `(PBX "${pbx}")`)}`)
    },
    received(request, { event, fault }) {
      print(requestLine(paint, request, event, fault === undefined ? { kind: 'right' } : { kind: 'wrong', why: fault }))
      if (bodies) print(paint('dim', indented(event === undefined ? request.body : JSON.stringify(event, null, 2))))
    },
    close(missing) {
      print('')
      if (missing.length === 0)
        print(paint('green', 'Every event of both calls arrived: signed, in order, exactly once.'))
      else for (const line of missing) print(paint('red', `Missing: ${line}`))
      print('')
      for (const line of nextSteps(ownName())) print(line)
    },
    goOn(url) {
      print('')
      print(`The service keeps running at ${url} until you press Ctrl-C.`)
    },
  }
}

const indented = (text: string): string => text.replace(/^/gm, '    ')
