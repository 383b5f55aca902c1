import type { Persona } from '../../recorded/persona.ts'
import type { PbxRecording, RecordedStep } from '../../recorded/recording.ts'
import type { Peers } from './peers.ts'

/**
 * Events from this moment of a recording on wait for `until`, and the time of the recording stops. `file` is the first
 * one by default.
 */
export type Hold = { readonly file?: number; readonly atMs: number; readonly until: Promise<unknown> }

export type PlayerOptions = {
  readonly recordings: readonly PbxRecording[]
  readonly persona: Persona
  readonly peers: Peers
  readonly holds: readonly Hold[]
  /** 2 plays twice as fast, `Infinity` as fast as the clients read. */
  readonly speed: number
  /**
   * Closes the connection after this many events; the `missing` events after it are never sent, and the next login
   * continues behind them.
   */
  readonly cut?: { readonly after: number; readonly missing: number } | undefined
  /** Plays the recordings again and again, with a pause of this length between rounds. */
  readonly againAfterMs?: number | undefined
}

/** Sends the events of recordings to the clients that are logged in, at their times. */
type Player = {
  /** Sends the events that are due, and later ones at their times. */
  play(): void
  /** Stops the recording's time, until `play`. */
  pause(): void
  /** Returns the present moment of the recording, in its milliseconds. */
  nowMs(): number
  played(): number
  /** Returns whether the next event waits for a hold to end. */
  isOnHold(): boolean
  /** Resolves when the last event of the last recording was sent, for the first time. */
  readonly finished: Promise<void>
  stop(): void
}

export function createPlayer(options: PlayerOptions): Player {
  const { persona, peers, speed } = options
  const finish = Promise.withResolvers<void>()
  const clock = createReplayClock(speed)
  const position = createPosition(options, () => {
    clock.pause()
    play()
  })
  const { step, played } = createStepper(options, position)
  let timer: ReturnType<typeof setTimeout> | undefined
  let again: ReturnType<typeof setTimeout> | undefined
  let isStopped = false

  function play(): void {
    clearTimeout(timer)
    while (!isStopped && peers.ready() > 0) {
      const next = position.next()
      if (next === undefined) {
        endRecording()
        return
      }
      if (position.isOnHold() || peers.areBehind()) return
      const waitMs = clock.untilMs(next.atMs, position.nowMs())
      if (waitMs >= 1) {
        timer = setTimeout(play, waitMs)
        return
      }
      step()
    }
  }
  function endRecording(): void {
    if (position.nextRecording()) {
      peers.hangUp()
      return
    }
    finish.resolve()
    if (options.againAfterMs === undefined || again !== undefined) return
    // The next connection lists the channels again, so that a call which the last round left open comes to its end.
    if (options.recordings.length > 1 || !persona.isQuiet()) peers.hangUp()
    again = setTimeout(beginAgain, options.againAfterMs)
  }
  function beginAgain(): void {
    again = undefined
    position.restart()
    clock.pause()
    play()
  }

  return {
    play,
    pause: clock.pause,
    nowMs: position.nowMs,
    played,
    isOnHold: position.isOnHold,
    finished: finish.promise,
    stop() {
      isStopped = true
      clearTimeout(timer)
      clearTimeout(again)
    },
  }
}

function createStepper({ persona, peers, cut }: PlayerOptions, position: Position) {
  let played = 0
  /** Sends the next event; returns `false` while a client has to read first, or has to log in again. */
  function step(): boolean {
    const next = position.take()
    if (next === undefined) return false
    played += 1
    persona.advance(next)
    const isMissed = cut !== undefined && played > cut.after && played <= cut.after + cut.missing
    if (!isMissed) peers.send(next)
    if (cut === undefined || played !== cut.after) return true
    peers.hangUp()
    while (played < cut.after + cut.missing && step());
    return false
  }
  return { step, played: () => played }
}

/** The time of the recordings, which stops in a pause and continues with the next event. */
function createReplayClock(speed: number) {
  let anchor: { readonly wallMs: number; readonly atMs: number } | undefined
  return {
    pause() {
      anchor = undefined
    },
    /** Returns the wait until a moment of the recording, from its present one. */
    untilMs(atMs: number, nowMs: number): number {
      anchor ??= { wallMs: performance.now(), atMs: nowMs }
      return (atMs - anchor.atMs) / speed - (performance.now() - anchor.wallMs)
    },
  }
}

type Position = ReturnType<typeof createPosition>

/** The place in the recordings; `released` is called when a hold ends. */
function createPosition({ recordings, persona, holds }: PlayerOptions, released: () => void) {
  const pendingHolds = new Set(holds)
  let recording = 0
  let steps: readonly RecordedStep[] = []
  let at = 0
  let atMs = 0

  const load = (index: number): boolean => {
    const next = recordings[index]
    if (next === undefined) return false
    const loaded = persona.load(next)
    recording = index
    steps = loaded.steps
    atMs = loaded.beginMs
    at = 0
    return true
  }
  load(0)
  for (const hold of holds)
    void hold.until.then(() => {
      pendingHolds.delete(hold)
      released()
    })
  return {
    next: (): RecordedStep | undefined => steps[at],
    take(): RecordedStep | undefined {
      const step = steps[at]
      if (step === undefined) return undefined
      at += 1
      atMs = Math.max(atMs, step.atMs)
      return step
    },
    nowMs: () => atMs,
    isOnHold(): boolean {
      const nextMs = steps[at]?.atMs ?? 0
      return [...pendingHolds].some((hold) => (hold.file ?? 0) === recording && nextMs >= hold.atMs)
    },
    /** Begins the next recording; returns `false` after the last recording. */
    nextRecording: () => load(recording + 1),
    restart: () => void load(0),
  }
}
