import type { Log } from '../lib/log.ts'
import { MILLISECOND, type NowUs, SECOND, steadyUs as systemSteadyUs } from '../lib/time.ts'
import { createBudgets, createRests } from './budget.ts'
import type { Escaping } from './content-escaping.ts'
import type { Problem } from './template.ts'
import type { JobResult } from './thread-messages.ts'
import {
  type BatchEnd,
  type EndReason,
  type JobLimits,
  startWatchedThread,
  type TemplateThread,
  type WatchedThread,
} from './watched-thread.ts'

/**
 * Renders templates in a thread of its own, for all accounts in turn. The first template starts the thread, a second
 * one is kept ready: it takes over the jobs behind a long one, and all jobs when the first thread is ended. An
 * account is rendered by one thread at a time. Both threads end when nothing was rendered for some minutes.
 */
export type TemplateRenderer = {
  /** Renders templates with the same data, in one message to the thread. Never rejects: a failure is a rendering. */
  render<Name extends string>(request: RenderRequest<Name>): Promise<Readonly<Record<Name, Rendering>>>
  /** Ends the threads; waiting requests are not rendered. */
  stop(): Promise<void>
}

export type RenderRequest<Name extends string> = {
  readonly accountId: number
  /** Each purpose has its own budget, so that a template can be corrected while its sending budget is spent. */
  readonly purpose: 'sending' | 'reading' | 'trying'
  readonly templates: Readonly<Record<Name, TemplateText>>
  /** The data of the templates: the JSON text of an object. */
  readonly data: string
}

/**
 * A template, and whether its result has to be JSON or empty. `escaping`: it is a template of a flow's step, with the
 * filters of steps, and its output is escaped. `isOnlyParsed`: the result is empty.
 */
export type TemplateText = {
  readonly text: string
  readonly isJson?: boolean
  readonly escaping?: Escaping
  readonly isOnlyParsed?: boolean
}

/** The result, or a sentence for the owner of the template on why it failed. */
export type Rendering =
  | { readonly text: string }
  | { readonly problem: string; readonly kind: Problem['kind'] | 'ended' | 'resting' }
  /** The template is not at fault: try again after this time. */
  | { readonly problem: string; readonly kind: 'busy'; readonly afterUs: number }

type TemplateRendererOptions = {
  readonly startThread: () => TemplateThread
  readonly log: Log
  readonly steadyUs?: NowUs
  readonly idleMs?: number
  readonly limits?: JobLimits
}

const IDLE_MS = 5 * 60_000
/** A command renders a few templates and ends: it needs no second thread. */
const SPARE_AFTER_MS = 1_000
const THREADS = 2
/** Threads that were ended and are still in a step that cannot be interrupted. */
const MAX_ENDING = 4
/** After a thread that could not start. */
const START_AGAIN_MS = 1_000
const MAX_WAIT_US = 5 * SECOND
/** Jobs of one batch, by their number and by the time that they will probably take. */
const MAX_BATCH_JOBS = 64
const MAX_BATCH_US = 5 * MILLISECOND
const FIRST_ESTIMATE_US = MILLISECOND
/** Charges for memory: other threads free it, and their time is not measured here. */
const UNITS_PER_US = 100
/** The time of starting another thread. */
const START_US = 30 * MILLISECOND
/** Characters of templates that a thread keeps parsed; each takes some 100 bytes. */
const MAX_KNOWN_CHARACTERS = 300_000
const LOG_EVERY_US = 5 * SECOND

type Job = {
  readonly account: Account
  readonly budget: string
  readonly templates: readonly TemplateText[]
  readonly data: string
  readonly sinceUs: number
  readonly resolve: (renderings: readonly Rendering[]) => void
  isFinished: boolean
}

type Account = { readonly id: number; waiting: Job[]; thread: Thread | undefined; estimateUs: number }

type Thread = { readonly watched: WatchedThread; readonly known: Map<string, number>; characters: number; jobs: Job[] }

/** Creates the renderer. No thread is started before there is a template. */
export function createTemplateRenderer(options: TemplateRendererOptions): TemplateRenderer {
  const { startThread, log, steadyUs = systemSteadyUs, idleMs = IDLE_MS, limits } = options
  const budgets = createBudgets()
  const rests = createRests()
  const accounts = new Map<number, Account>()
  /** The accounts with waiting jobs, in the order of their turns. */
  const turns = new Set<Account>()
  const ending = new Set<Promise<void>>()
  let threads: Thread[] = []
  let isStopped = false
  let isPumpDue = false
  let nextNumber = 1
  let startNotBeforeUs = Number.NEGATIVE_INFINITY
  let loggedUs = Number.NEGATIVE_INFINITY
  let spareTimer: ReturnType<typeof setTimeout> | undefined
  let startTimer: ReturnType<typeof setTimeout> | undefined
  let idleTimer: ReturnType<typeof setTimeout> | undefined
  let waitTimer: ReturnType<typeof setTimeout> | undefined

  const keyOf = (account: Account, { text }: TemplateText): string => `${account.id}:${Bun.hash(text)}`

  function accountOf(id: number): Account {
    const account = accounts.get(id) ?? { id, waiting: [], thread: undefined, estimateUs: FIRST_ESTIMATE_US }
    accounts.set(id, account)
    return account
  }

  function finish(job: Job, renderings: readonly Rendering[]): void {
    if (job.isFinished) return
    job.isFinished = true
    job.resolve(renderings)
  }
  const finishAll = (job: Job, rendering: Rendering): void =>
    finish(
      job,
      job.templates.map(() => rendering),
    )

  /** Returns why a job is not rendered now; `undefined`: it may be. */
  function refusalOf({ account, budget, templates, sinceUs }: Job, atUs: number): Rendering | undefined {
    const isResting = (one: TemplateText): boolean => rests.restsForUs(keyOf(account, one), atUs) > 0
    if (!rests.isEmpty() && templates.some(isResting)) return { kind: 'resting', problem: RESTS }
    const spentForUs = budgets.spentForUs(budget, atUs)
    if (spentForUs > 0) return { kind: 'busy', problem: SPENT, afterUs: spentForUs }
    return atUs - sinceUs > MAX_WAIT_US ? { kind: 'busy', problem: WAITED, afterUs: SECOND } : undefined
  }

  /** Takes jobs of all accounts in turn, one per account; answers refused ones. */
  function nextJobs(thread: Thread): Job[] {
    const jobs: Job[] = []
    const atUs = steadyUs()
    let us = 0
    for (const account of turns) {
      if (account.thread !== undefined && account.thread !== thread) continue
      const job = account.waiting.shift()
      turns.delete(account)
      // At the end of the set it is visited again.
      if (account.waiting.length > 0) turns.add(account)
      if (job === undefined || job.isFinished) continue
      const refusal = refusalOf(job, atUs)
      if (refusal !== undefined) {
        finishAll(job, refusal)
        continue
      }
      account.thread = thread
      jobs.push(job)
      us += account.estimateUs
      if (jobs.length >= MAX_BATCH_JOBS || us >= MAX_BATCH_US) break
    }
    return jobs
  }

  function pumpSoon(): void {
    if (isPumpDue) return
    isPumpDue = true
    // Requests of the same turn go out in one message.
    queueMicrotask(() => {
      isPumpDue = false
      pump()
    })
  }

  function pump(): void {
    if (isStopped || turns.size === 0) return
    if (threads.length === 0) startOne()
    for (const thread of threads) {
      // The second thread is for jobs behind a slow one.
      if (threads.some(({ watched }) => watched.state === 'running')) break
      if (thread.watched.state !== 'idle') continue
      const jobs = nextJobs(thread)
      if (jobs.length > 0) void run(thread, jobs)
    }
    waitTimer ??= setTimeout(dropLate, MAX_WAIT_US / MILLISECOND)
    waitTimer.unref()
  }

  /** Drops jobs that have waited too long for a thread that does not start. */
  function dropLate(): void {
    waitTimer = undefined
    const atUs = steadyUs()
    const isLate = (job: Job): boolean => atUs - job.sinceUs > MAX_WAIT_US
    for (const account of turns) {
      for (const job of account.waiting.filter(isLate))
        finishAll(job, { kind: 'busy', problem: WAITED, afterUs: SECOND })
      account.waiting = account.waiting.filter((job) => !job.isFinished)
      if (account.waiting.length === 0) turns.delete(account)
    }
    pump()
  }

  async function run(thread: Thread, jobs: Job[]): Promise<void> {
    clearTimeout(idleTimer)
    thread.jobs = jobs
    const end = await thread.watched.run(batchOf(thread, jobs))
    const left = thread.jobs
    thread.jobs = []
    for (const { account } of jobs) if (account.thread === thread) account.thread = undefined
    if ('results' in end) for (const [at, job] of jobs.entries()) conclude(job, end.results[at])
    else concludeEnded(left, end.ended)
    for (const { account } of jobs) if (account.waiting.length === 0 && account.thread === undefined) forget(account)
    if (isStopped) return
    spareTimer ??= setTimeout(startOne, SPARE_AFTER_MS)
    spareTimer.unref()
    idleTimer = setTimeout(endIdle, idleMs)
    idleTimer.unref()
    pump()
  }

  /** Drops an account without jobs above the limit; a kept one remembers its usual time. */
  function forget({ id }: Account): void {
    if (accounts.size > MAX_IDLE_ACCOUNTS) accounts.delete(id)
  }

  function batchOf(thread: Thread, jobs: readonly Job[]) {
    const forget = thread.characters > MAX_KNOWN_CHARACTERS
    if (forget) {
      thread.known.clear()
      thread.characters = 0
    }
    const texts = new Map<number, { text: string; escaping: Escaping | undefined }>()
    const numberOf = ({ text, escaping }: TemplateText): number => {
      const key = `${escaping ?? ''}:${text}`
      const known = thread.known.get(key)
      if (known !== undefined) return known
      const number = nextNumber++
      thread.known.set(key, number)
      thread.characters += text.length
      texts.set(number, { text, escaping })
      return number
    }
    return {
      forget,
      texts,
      jobs: jobs.map(({ data, templates }) => ({
        data,
        templates: templates.map((one) => ({
          number: numberOf(one),
          isJson: one.isJson ?? false,
          isOnlyParsed: one.isOnlyParsed ?? false,
        })),
      })),
    }
  }

  function conclude(job: Job, result: JobResult | undefined): void {
    // A job that was left to another thread has no result here.
    if (result === undefined || job.isFinished) return
    const { account, budget, templates } = job
    const atUs = steadyUs()
    const costUs = result.tookUs + result.units / UNITS_PER_US
    account.estimateUs += (costUs - account.estimateUs) / 8
    budgets.charge(budget, atUs, costUs)
    for (const [at, one] of templates.entries()) {
      const rendering = result.renderings[at]
      if (rendering !== undefined && 'problem' in rendering && rendering.kind === 'costly')
        rests.noteCostly(keyOf(account, one), atUs)
      else if (!rests.isEmpty()) rests.noteUsual(keyOf(account, one))
    }
    finish(job, result.renderings)
  }

  /** The job in which a thread was ended has failed; the others are rendered by another thread. */
  function concludeEnded(jobs: readonly Job[], ended: Extract<BatchEnd, { ended: object }>['ended']): void {
    const culprit = jobs[ended.job]
    giveBack(jobs.filter((job) => job !== culprit))
    if (culprit === undefined || isStopped) return
    const { account, budget, templates } = culprit
    const atUs = steadyUs()
    budgets.charge(budget, atUs, ended.tookUs + START_US)
    const template = templates[ended.template]
    const restUs = template === undefined ? 0 : rests.rest(keyOf(account, template), atUs)
    finishAll(culprit, { kind: 'ended', problem: ENDED[ended.why] })
    if (atUs - loggedUs < LOG_EVERY_US) return
    loggedUs = atUs
    const facts = { account: account.id, reason: ended.why, ms: Math.round(ended.tookUs / MILLISECOND) }
    log.warn(
      { ...facts, restSeconds: Math.round(restUs / SECOND) },
      'a template was ended because it did not stop by itself: its webhooks rest, and their deliveries are tried again',
    )
  }

  /** Puts jobs back to the head of the queue. */
  function giveBack(jobs: readonly Job[]): void {
    for (const job of jobs.toReversed()) {
      if (job.isFinished) continue
      job.account.waiting.unshift(job)
      turns.add(job.account)
    }
  }

  /** Moves the jobs behind a slow one to the other thread, except jobs of the same account. */
  function onSlow(thread: Thread): void {
    const leave = thread.watched.leaveRest()
    const left = thread.jobs.slice(leave)
    const slow = thread.jobs[leave - 1]?.account
    thread.jobs = thread.jobs.slice(0, leave)
    for (const { account } of left) if (account !== slow) account.thread = undefined
    giveBack(left)
    if (threads.length < THREADS) startOne()
    pump()
  }

  function startOne(): void {
    if (isStopped || threads.length >= THREADS || ending.size >= MAX_ENDING) return
    const atUs = steadyUs()
    if (atUs < startNotBeforeUs) {
      startTimer ??= setTimeout(() => {
        startTimer = undefined
        if (turns.size > 0) startOne()
      }, START_AGAIN_MS)
      return
    }
    let isReady = false
    const thread: Thread = {
      watched: startWatchedThread({
        start: startThread,
        onState() {
          if (thread.watched.state === 'ended') {
            if (!isReady) startNotBeforeUs = steadyUs() + START_AGAIN_MS * MILLISECOND
            remove(thread)
            startOne()
          }
          isReady = true
          pump()
        },
        onSlow: () => onSlow(thread),
        ...(limits === undefined ? {} : { limits }),
      }),
      known: new Map(),
      characters: 0,
      jobs: [],
    }
    threads.push(thread)
  }

  function remove(thread: Thread): void {
    threads = threads.filter((one) => one !== thread)
    const end = thread.watched.end().then(() => {
      ending.delete(end)
      pumpSoon()
    })
    ending.add(end)
  }

  function endIdle(): void {
    if (threads.some(({ watched }) => watched.state === 'running' || watched.state === 'slow')) return
    clearTimeout(spareTimer)
    spareTimer = undefined
    for (const thread of threads) remove(thread)
  }

  return {
    async render<Name extends string>({ accountId, purpose, templates, data }: RenderRequest<Name>) {
      // Object.keys loses the type of the keys.
      const names = Object.keys(templates) as Name[]
      const { promise, resolve } = Promise.withResolvers<readonly Rendering[]>()
      const job: Job = {
        account: accountOf(accountId),
        budget: `${accountId}:${purpose}`,
        templates: names.map((name) => templates[name]),
        data,
        sinceUs: steadyUs(),
        resolve,
        isFinished: false,
      }
      const refusal = isStopped ? STOPPED : refusalOf(job, job.sinceUs)
      if (refusal !== undefined) finishAll(job, refusal)
      else {
        job.account.waiting.push(job)
        turns.add(job.account)
        pumpSoon()
      }
      const renderings = await promise
      // fromEntries loses it too.
      return Object.fromEntries(names.map((name, at) => [name, renderings[at] ?? STOPPED])) as Record<Name, Rendering>
    },
    async stop() {
      isStopped = true
      for (const timer of [spareTimer, startTimer, idleTimer, waitTimer]) clearTimeout(timer)
      for (const account of accounts.values()) for (const job of account.waiting) finishAll(job, STOPPED)
      const running = threads.flatMap(({ jobs }) => jobs)
      for (const thread of threads) remove(thread)
      for (const job of running) finishAll(job, STOPPED)
      await Promise.all(ending)
    },
  }
}

const MAX_IDLE_ACCOUNTS = 1_000

const RESTS = 'took too long, or too much memory: it is tried again after a rest'
const SPENT = 'takes too long for so many events: it is tried again later'
const WAITED = 'waited too long for other templates: it is tried again later'
const STOPPED: Rendering = { kind: 'busy', problem: 'was not rendered, because the service stops', afterUs: SECOND }
const ENDED: Readonly<Record<EndReason, string>> = {
  time: 'did not end by itself and was ended: it is tried again after a rest',
  memory: 'took too much memory and was ended: it is tried again after a rest',
  died: 'could not be rendered, an internal error: please report it with the template',
}
