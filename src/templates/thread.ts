import { readlinkSync } from 'node:fs'
import type { EmptyExpression } from './engine.ts'
import { processorUs } from './engine-limits.ts'
import { type Problem, type ReadTemplate, type Rendered, readTemplate } from './template.ts'
import {
  type FromThread,
  type JobResult,
  PROGRESS,
  PROGRESS_BYTES,
  type RenderBatch,
  type SentTemplate,
  type ThreadJob,
  type ThreadRendering,
  type ToThread,
} from './thread-messages.ts'

/** Runs the thread: renders the batches that it receives, one after the other. */
export function serveTemplates(port: Pick<Worker, 'addEventListener' | 'postMessage'>): void {
  // A template is read when it is first rendered: until then it is as it was sent.
  const known = new Map<number, ReadTemplate | Problem | SentTemplate>()
  let progress = new Int32Array(new SharedArrayBuffer(PROGRESS_BYTES))
  const send = (message: FromThread) => port.postMessage(message)

  function renderBatch({ texts, forget, jobs }: RenderBatch): JobResult[] {
    if (forget) known.clear()
    for (const [number, sent] of texts) known.set(number, sent)
    let startedUs = processorUs()
    const read = (number: number): ReadTemplate | Problem => {
      const template = known.get(number)
      if (template === undefined) throw new Error(`the template ${number} was never sent`)
      if (typeof template === 'function' || 'problem' in template) return template
      const read = readTemplate(template.text, template.escaping)
      known.set(number, read)
      return read
    }
    const results: JobResult[] = []
    for (const [at, job] of jobs.entries()) {
      Atomics.store(progress, PROGRESS.job, at)
      if (at >= Atomics.load(progress, PROGRESS.leave)) break
      const { renderings, units } = renderJob(job, read)
      const endedUs = processorUs()
      results.push({ renderings, units, tookUs: endedUs - startedUs })
      startedUs = endedUs
    }
    return results
  }

  function renderJob({ data, templates }: ThreadJob, read: (number: number) => ReadTemplate | Problem) {
    let units = 0
    const parsed: object = JSON.parse(data)
    const renderings = templates.map(({ number, isJson, isOnlyParsed }, at): ThreadRendering => {
      Atomics.store(progress, PROGRESS.template, at)
      const startedUs = processorUs()
      const template = read(number)
      if (isOnlyParsed) return typeof template === 'function' ? { text: '' } : template
      const rendered = typeof template === 'function' ? template(parsed, startedUs) : { ...template, units: 0 }
      units += rendered.units
      return checked(rendered, isJson)
    })
    return { renderings, units }
  }

  port.addEventListener('message', ({ data }: MessageEvent<ToThread>) => {
    if ('progress' in data) {
      progress = new Int32Array(data.progress)
      warmUp()
      send({ ready: { task: taskOf() } })
    } else send({ results: renderBatch(data) })
  })
}

/** Creates the engine, and runs it once: that takes some 20 ms, which belong to no template. */
function warmUp(): void {
  const template = readTemplate('{% for one in data %}{{ one | json | append: time }}{% endfor %}')
  if (typeof template === 'function') template({ data: [1], time: '' })
}

/** Returns the name of this thread in `/proc/self/task`; `undefined` without /proc. */
function taskOf(): string | undefined {
  try {
    return readlinkSync('/proc/thread-self').split('/').at(-1)
  } catch {
    return undefined
  }
}

function checked(rendered: Rendered, isJson: boolean): ThreadRendering {
  if ('problem' in rendered) return { problem: rendered.problem, kind: rendered.kind }
  const { text, empty } = rendered
  if (text.trim() === '') return { text: '' }
  const problem = isJson ? jsonProblem(text, empty) : undefined
  return problem === undefined ? { text } : { problem, kind: 'no_json' }
}

/** Returns why a text is not JSON; `undefined` if it is. */
function jsonProblem(text: string, empty: readonly EmptyExpression[]): string | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    const missing = empty.find(({ at }) => isValueMissing(text, at))
    if (missing !== undefined) {
      const { expression, line, column } = missing
      return `${expression.slice(0, MAX_QUOTED)} in line ${line}, column ${column} is empty where JSON needs a value: add "| json" to it`
    }
    const reason = error instanceof Error ? error.message.replace(/^JSON Parse error: /, '').slice(0, MAX_QUOTED) : ''
    return `${reason}; {{ … | json }} writes a value with its quotes`
  }
}

const MAX_QUOTED = 100

/** Returns whether a value belongs at this place of a text: `{"a": , …`. */
const isValueMissing = (text: string, at: number): boolean =>
  /(?:^|[:[,])\s*$/.test(text.slice(Math.max(0, at - 20), at)) && /^\s*(?:[\]},]|$)/.test(text.slice(at, at + 20))
