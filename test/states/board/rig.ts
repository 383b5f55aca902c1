import { applyState, newBoard, presentOf, takeStateChanges } from '../../../src/states/board/board.ts'
import type { Present, StoredSubject } from '../../../src/states/board/subject.ts'
import type { EndpointEntry, StateSignal } from '../../../src/states/signal.ts'

export const SECOND = 1_000_000
const START = 1_795_213_000 * SECOND

type WithoutTime<Signal> = Signal extends unknown ? Omit<Signal, 'atUs'> : never
/** A signal at a moment that the clock of the rig gives. */
export type Step = WithoutTime<StateSignal>

export const phone = (extension: string, more: Partial<EndpointEntry> = {}): EndpointEntry => ({
  endpoint: `PJSIP/${extension}`,
  kind: 'phone',
  key: extension,
  name: null,
  tenant: null,
  ...more,
})
export const trunk = (name: string): EndpointEntry => ({
  endpoint: `PJSIP/${name}`,
  kind: 'trunk',
  key: name,
  name: null,
  tenant: null,
})

/** A board with its own clock, and its emitted changes. */
export type Rig = {
  readonly board: ReturnType<typeof newBoard>
  readonly emitted: { at: number; resync: boolean; text: string; id: string; account: string }[]
  nowUs(): number
  /** Applies signals at this moment, and emits all due changes. */
  feed(...steps: Step[]): void
  /** Lets time pass, and emits all due changes. */
  pass(seconds: number): void
  present(account?: string): Present[]
  /** Returns the most changes that were returned at a time. */
  mostAtOnce(): number
}

export const OWN = { account: 'default', accountOf: () => 'default', accountOfQueue: () => 'default' }

export function createRig(options = OWN as Parameters<typeof newBoard>[0], stored: readonly StoredSubject[] = []): Rig {
  let clockUs = 0
  const board = newBoard(options, stored, clockUs)
  const emitted: Rig['emitted'] = []
  let mostAtOnce = 0
  function take(): number | null {
    const { changes, wakeSteadyUs } = takeStateChanges(board, { nowUs: START + clockUs, steadyUs: clockUs })
    mostAtOnce = Math.max(mostAtOnce, changes.length)
    for (const { id, account, atUs, resync, present: state } of changes)
      emitted.push({ at: (atUs - START) / SECOND, resync, text: textOf(state), id, account })
    return wakeSteadyUs
  }
  function takeAll(): void {
    for (let wakeUs = take(); wakeUs !== null && wakeUs <= clockUs; ) wakeUs = take()
  }
  function applyWhole(signal: StateSignal): void {
    for (const _ of applyState(board, signal, clockUs) ?? []);
  }
  return {
    board,
    emitted,
    mostAtOnce: () => mostAtOnce,
    nowUs: () => START + clockUs,
    feed(...steps) {
      for (const step of steps) applyWhole({ ...step, atUs: START + clockUs })
      takeAll()
    },
    pass(seconds) {
      const untilUs = clockUs + seconds * SECOND
      for (let wakeUs = take(); wakeUs !== null && wakeUs <= untilUs; wakeUs = take())
        clockUs = Math.max(clockUs, wakeUs)
      clockUs = untilUs
      takeAll()
    },
    present: (account = 'default') => [...presentOf(board, (one) => one === account, START + clockUs)],
  }
}

/** Returns a state in short: `101 registered idle 1`. */
export function textOf({ kind, state }: Present): string {
  switch (kind) {
    case 'phone':
      return `${state.extension} ${state.state} ${state.device} ${state.contacts}`
    case 'trunk':
      return `${state.trunk} ${state.state}${state.reason === null ? '' : ` (${state.reason})`}`
    case 'agent':
      return `${state.extension} of ${state.queue} ${state.state}${state.reason === null ? '' : ` (${state.reason})`}`
    case 'queue':
      return `${state.queue}: ${state.waiting} waiting for ${state.longest_wait}, ${state.available} ${state.busy} ${state.paused}`
  }
}
