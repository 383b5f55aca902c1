import type { EventBody } from '../../calls/event.ts'
import type { Paint } from '../../lib/paint.ts'
import { faultOf, type Received } from '../receiver.ts'
import { requestLine } from '../request-line.ts'
import { readEvent } from '../sentence.ts'
import { nextSteps, ownName } from './next.ts'
import type { Played } from './recordings.ts'

export type Place = {
  readonly url: string
  readonly webhook: string
  readonly email: string
  readonly password: string
}

export type Story = {
  verifyWith(secret: string): void
  open(place: Place): void
  begin(played: Played): void
  received(request: Received): void
  /** Waits until all that a recording gives has come, or until it is too late. */
  complete(played: Played, withinMs: number): Promise<void>
  /** What has not come of a recording, in words. */
  missing(played: Played): string[]
  close(missing: readonly string[], once: boolean): void
}

type Options = { readonly paint: Paint; readonly bodies: boolean; print(line: string): void }

/** Tells, line by line, what arrives; and keeps count of what has to. */
export function newStory({ paint, bodies, print }: Options): Story {
  const arrived = new Map<string, string[]>()
  /** The last sequence of each call. */
  const told = new Map<string, number>()
  const faults: string[] = []
  let secret = ''
  let place: Place | undefined
  let wake = (): void => {}

  const missing = (played: Played): string[] => {
    const open = [...(arrived.get(played.pbx) ?? [])]
    const absent = played.expected.filter((name) => {
      const at = open.indexOf(name)
      if (at >= 0) open.splice(at, 1)
      return at < 0
    })
    return absent.map((name) => `${name} of ${played.pbx} did not arrive`)
  }

  /** What is wrong with a request, if anything: its signature, its body, its place in the order of its call. */
  function faultOfRequest(request: Received, event: EventBody | undefined): string | undefined {
    if (event === undefined) return 'the body is no call event'
    const { call, sequence } = event.data
    const expected = (told.get(call.id) ?? 0) + 1
    told.set(call.id, sequence)
    return (
      faultOf(request, secret) ?? (sequence === expected ? undefined : `sequence is ${sequence}, expected ${expected}`)
    )
  }

  function received(request: Received): void {
    const event = readEvent(request.body)
    const fault = faultOfRequest(request, event)
    if (fault !== undefined) faults.push(fault)
    if (event !== undefined) arrived.set(event.data.pbx, [...(arrived.get(event.data.pbx) ?? []), event.data.name])
    print(requestLine(paint, request, event, fault === undefined ? { kind: 'right' } : { kind: 'wrong', why: fault }))
    if (bodies) print(paint('dim', indented(event === undefined ? request.body : JSON.stringify(event, null, 2))))
    wake()
  }

  return {
    verifyWith(given) {
      secret = given
    },
    open(given) {
      place = given
      print(paint('bold', 'Hookswitch tells your systems of every call on your PBX, by signed webhooks.'))
      print('')
      print('Here is a whole one, with the recorded calls of two real PBXs played to it over TCP.')
      print(`Its webhook is ${given.webhook}, a receiver that this demo runs. Each line below is a POST`)
      print('that arrived there: when, its signature, which event, what happened, how long after it happened.')
      print('')
      print(`  web page  ${paint('bold', given.url)}      API  ${given.url}/docs`)
      print(`  log in    ${paint('bold', given.email)}  with the password  ${paint('bold', given.password)}`)
    },
    begin(played) {
      print('')
      print(`${paint('bold', played.title)} ${paint('dim', `(PBX "${played.pbx}")`)}`)
    },
    received,
    async complete(played, withinMs) {
      const late = Bun.sleep(withinMs).then(() => 'late' as const)
      while (missing(played).length > 0) {
        const next = new Promise<void>((resolve) => {
          wake = resolve
        })
        if ((await Promise.race([next, late])) === 'late') return
      }
    },
    missing: (played) => [...missing(played), ...faults.splice(0)],
    close(absent, once) {
      print('')
      if (absent.length === 0) print(paint('green', 'Every event of both calls arrived, signed, in order, once.'))
      else for (const line of absent) print(paint('red', `Missing: ${line}`))
      print('')
      for (const line of nextSteps(ownName())) print(line)
      if (once || place === undefined) return
      print('')
      print(`The demo runs on at ${place.url} until you press Ctrl-C.`)
    },
  }
}

const indented = (text: string): string => text.replace(/^/gm, '    ')
