import type { Paint } from '../../lib/terminal-text.ts'
import type { Received } from '../receiver.ts'
import { requestLine } from '../request-line.ts'
import type { Entry } from './checklist.ts'
import { nextSteps, ownName } from './next-steps.ts'
import type { Played } from './recordings.ts'

export type Place = {
  readonly url: string
  readonly webhook: string
  readonly email: string
  readonly password: string
}

/** What the demo says, line by line. */
export type Story = {
  open(place: Place): void
  begin(played: Played): void
  received(request: Received, entry: Entry): void
  close(missing: readonly string[]): void
  goOn(url: string): void
}

type Options = { readonly paint: Paint; readonly bodies: boolean; print(line: string): void }

export function newStory({ paint, bodies, print }: Options): Story {
  return {
    open({ url, webhook, email, password }) {
      print(paint('bold', 'Hookswitch tells your systems of every call on your PBX, by signed webhooks.'))
      print('')
      print('Here is a whole one, with the recorded calls of two real PBXs played to it over TCP.')
      print(`Its webhook is ${webhook}, a receiver that this demo runs. Each line below is a POST`)
      print('that arrived there: when, its signature, which event, what happened, how long after it happened.')
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
      if (missing.length === 0) print(paint('green', 'Every event of both calls arrived, signed, in order, once.'))
      else for (const line of missing) print(paint('red', `Missing: ${line}`))
      print('')
      for (const line of nextSteps(ownName())) print(line)
    },
    goOn(url) {
      print('')
      print(`The demo runs on at ${url} until you press Ctrl-C.`)
    },
  }
}

const indented = (text: string): string => text.replace(/^/gm, '    ')
