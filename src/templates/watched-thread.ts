import { readFileSync } from 'node:fs'
import {
  type FromThread,
  type JobResult,
  PROGRESS,
  PROGRESS_BYTES,
  type RenderBatch,
  type ToThread,
} from './thread-messages.ts'

/**
 * A thread that renders templates, and the watch over it. The engine in it ends what takes too long; the watch ends the
 * thread itself when the engine does not: after the time that no template needs, or when the memory of the process
 * grows. Only a single long step of the engine's own code is not interrupted at once; the engine refuses those.
 *
 * States: *starting*, *idle*, *running* (a batch; *slow* after 10 ms in one job), *ended*.
 */
export type WatchedThread = {
  readonly state: 'starting' | 'idle' | 'running' | 'slow' | 'ended'
  /** Renders a batch while idle. Never rejects. */
  run(batch: RenderBatch): Promise<BatchEnd>
  /** Leaves the rest of a batch to others. Returns the first job that this thread will not begin. */
  leaveRest(): number
  /** Ends it, whatever it does. Resolves when it has ended and its memory is free. */
  end(): Promise<void>
}

/** How a batch ended: with results, or with the end of the thread in one of its jobs. */
export type BatchEnd =
  | { readonly results: readonly JobResult[] }
  | { readonly ended: { readonly job: number; readonly template: number; readonly why: EndReason; tookUs: number } }
export type EndReason = 'time' | 'memory' | 'died'

/** A worker of Bun. It keeps the process alive until `unref` is called. */
export type TemplateThread = Worker & { ref?(): void; unref?(): void }

type Options = {
  readonly start: () => TemplateThread
  /** Called when the thread is ready, and when it has ended by itself. */
  readonly onState: () => void
  /** Called once in a batch that takes long. */
  readonly onSlow: () => void
  readonly limits?: JobLimits
}

/** The limits above which a thread is ended in a job. */
export type JobLimits = {
  /** CPU time. */
  readonly cpuUs: number
  /** Ticks of the watch, where the CPU time of a thread cannot be read. */
  readonly ticksUnknown: number
  readonly ticks: number
}

const WATCH_MS = 5
/** Ticks of the watch in one job. They are counted instead of the clock, which goes on while the machine sleeps. */
const SLOW_TICKS = 2
/** The engine ends a rendering after 10 ms of the processor, and tries it twice. */
const LIMITS: JobLimits = { cpuUs: 60_000, ticksUnknown: 60, ticks: 1_000 }
/** The growth of the whole process: nothing else grows this fast within milliseconds. */
const MAX_GROWTH_BYTES = 128 * 1024 * 1024
const NO_LIMIT = 2 ** 31 - 1

export function startWatchedThread({ start, onState, onSlow, limits = LIMITS }: Options): WatchedThread {
  const worker = start()
  const shared = new SharedArrayBuffer(PROGRESS_BYTES)
  const progress = new Int32Array(shared)
  const closed = Promise.withResolvers<void>()
  let state: WatchedThread['state'] = 'starting'
  let task: string | undefined
  let running: { readonly end: (end: BatchEnd) => void; readonly watch: ReturnType<typeof watchJobs> } | undefined
  let timer: ReturnType<typeof setTimeout> | undefined

  const send = (message: ToThread) => worker.postMessage(message)
  worker.addEventListener('message', ({ data }: MessageEvent<FromThread>) => {
    if (state === 'ended') return
    if ('ready' in data) {
      task = data.ready.task
      state = 'idle'
      worker.unref?.()
      onState()
    } else finish({ results: data.results })
  })
  // Also emitted when this process ends the thread: then there is nothing to report.
  worker.addEventListener('close', () => {
    closed.resolve()
    if (state !== 'ended') endIn('died')
  })
  worker.addEventListener('error', (event) => {
    event.preventDefault()
    if (state !== 'ended') endIn('died')
  })
  send({ progress: shared })

  function finish(end: BatchEnd): void {
    clearTimeout(timer)
    const { end: resolve } = running ?? {}
    running = undefined
    if (state !== 'ended') state = 'idle'
    worker.unref?.()
    resolve?.(end)
  }
  function endIn(why: EndReason): void {
    const [job, template] = [Atomics.load(progress, PROGRESS.job), Atomics.load(progress, PROGRESS.template)]
    const tookUs = running?.watch.tookUs() ?? 0
    state = 'ended'
    worker.terminate()
    finish({ ended: { job, template, why, tookUs } })
    onState()
  }
  function tick(): void {
    const verdict = running?.watch.tick()
    if (verdict === 'time' || verdict === 'memory') {
      endIn(verdict)
      return
    }
    timer = setTimeout(tick, WATCH_MS)
    if (verdict !== 'slow' || state !== 'running') return
    state = 'slow'
    onSlow()
  }

  return {
    get state() {
      return state
    },
    run(batch) {
      if (state !== 'idle') throw new Error(`a thread that is ${state} renders no batch`)
      state = 'running'
      Atomics.store(progress, PROGRESS.job, 0)
      Atomics.store(progress, PROGRESS.template, 0)
      Atomics.store(progress, PROGRESS.leave, NO_LIMIT)
      // Only a batch keeps the process alive.
      worker.ref?.()
      send(batch)
      timer = setTimeout(tick, WATCH_MS)
      return new Promise((end) => {
        running = { end, watch: watchJobs(progress, task, limits) }
      })
    },
    leaveRest() {
      const leave = Atomics.load(progress, PROGRESS.job) + 1
      Atomics.store(progress, PROGRESS.leave, leave)
      return leave
    },
    async end() {
      if (state !== 'ended') {
        state = 'ended'
        worker.terminate()
        finish({ ended: { job: 0, template: 0, why: 'died', tookUs: 0 } })
      }
      await closed.promise
    },
  }
}

/** Watches which job a thread is in, and for how long. */
function watchJobs(progress: Int32Array, task: string | undefined, limits: JobLimits) {
  let job = -1
  let ticks = 0
  let fromUs: number | undefined
  let fromBytes = 0
  const tookUs = (): number => {
    const nowUs = fromUs === undefined ? undefined : processorUsOf(task)
    return nowUs === undefined || fromUs === undefined ? ticks * WATCH_MS * 1_000 : nowUs - fromUs
  }
  return {
    /** Returns the time spent in the present job: CPU time where it can be read. */
    tookUs,
    tick(): 'slow' | 'time' | 'memory' | undefined {
      const now = Atomics.load(progress, PROGRESS.job)
      if (now !== job) {
        job = now
        ticks = 0
        fromUs = processorUsOf(task)
        fromBytes = process.memoryUsage.rss()
        return undefined
      }
      ticks += 1
      if (process.memoryUsage.rss() - fromBytes > MAX_GROWTH_BYTES) return 'memory'
      const maxTicks = fromUs === undefined ? limits.ticksUnknown : limits.ticks
      if (ticks >= maxTicks || tookUs() > limits.cpuUs) return 'time'
      return ticks >= SLOW_TICKS ? 'slow' : undefined
    },
  }
}

/** Returns for how long the processor has worked for a thread (Linux); `undefined` where that cannot be read. */
function processorUsOf(task: string | undefined): number | undefined {
  if (task === undefined) return undefined
  try {
    const [nanoseconds] = readFileSync(`/proc/self/task/${task}/schedstat`, 'utf8').split(' ')
    const us = Number(nanoseconds) / 1_000
    return us > 0 ? us : undefined
  } catch {
    return undefined
  }
}
