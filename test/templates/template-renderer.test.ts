import { afterEach, describe, expect, test } from 'bun:test'
import { startTemplateThread } from '../../src/app/start-template-thread.ts'
import { SECOND } from '../../src/lib/time.ts'
import { createTemplateRenderer } from '../../src/templates/renderer.ts'
import { until } from '../help/receiver.ts'

const logged: unknown[][] = []
const quiet = () => {}
const LOG = {
  debug: quiet,
  info: quiet,
  error: quiet,
  warn: (...line: unknown[]) => void logged.push(line),
}
const startFaulty = () => new Worker(new URL('../help/faulty-template-thread.ts', import.meta.url).href)

const started: { stop(): Promise<void> }[] = []
let threads = 0

/** A renderer whose engine lets everything pass. */
function start(options: Partial<Parameters<typeof createTemplateRenderer>[0]> = {}) {
  const { startThread = startFaulty } = options
  const renderer = createTemplateRenderer({
    log: LOG,
    ...options,
    startThread() {
      threads += 1
      return startThread()
    },
  })
  started.push(renderer)
  const render = async (accountId: number, data: object = {}, text = 'is {{ one }}') => {
    const request = {
      accountId,
      purpose: 'sending',
      templates: { body: { text } },
      data: JSON.stringify({ one: 1, ...data }),
    } as const
    return (await renderer.render(request)).body
  }
  return { ...renderer, render: renderer.render, one: render }
}

afterEach(async () => {
  for (const one of started.splice(0)) await one.stop()
  logged.length = 0
  threads = 0
})

describe('a renderer', () => {
  test('renders named templates with the same data, each with a result or a problem of its own', async () => {
    const { render } = start({ startThread: startTemplateThread })
    const templates = {
      url: { text: '/calls/{{ data.id }}' },
      body: { text: '{"id":{{ data.id | json }}}', isJson: true },
      wrong: { text: '{{ data.id' },
      noJson: { text: '{"id":{{ data.none }}}', isJson: true },
      nothing: { text: ' {% comment %}x{% endcomment %} ', isJson: true },
    }
    const rendered = await render({ accountId: 1, purpose: 'sending', templates, data: '{"data":{"id":7}}' })
    expect(rendered).toEqual({
      url: { text: '/calls/7' },
      body: { text: '{"id":7}' },
      wrong: { kind: 'wrong', problem: 'line 1, column 1: output "{{ data.id" not closed' },
      noJson: {
        kind: 'no_json',
        problem: '{{ data.none }} in line 1, column 7 is empty where JSON needs a value: add "| json" to it',
      },
      nothing: { text: '' },
    })
  })

  test('starts no thread before the first template, and ends it when nothing was rendered for a while', async () => {
    let ended = 0
    const startThread = () => {
      const worker = startTemplateThread()
      worker.addEventListener('close', () => {
        ended += 1
      })
      return worker
    }
    const { one } = start({ startThread, idleMs: 1 })
    expect(threads).toBe(0)
    expect(await one(1)).toEqual({ text: 'is 1' })
    await until('the thread has ended', () => ended === threads)
    expect(await one(1)).toEqual({ text: 'is 1' })
    expect(threads).toBeGreaterThan(1)
  })

  test('starts a thread again that could not start', async () => {
    const startThread = () => (threads < 3 ? new Worker('data:text/javascript,throw new Error("no")') : startFaulty())
    const { one } = start({ startThread })
    expect(await one(1)).toEqual({ text: 'is 1' })
  })

  test('after its stop renders nothing, and never keeps anybody waiting', async () => {
    const { one, stop } = start()
    const [endless, waiting] = [one(1, { fault: 'endless' }), one(1)]
    await stop()
    for (const rendered of [await endless, await waiting, await one(2)])
      expect(rendered).toMatchObject({ kind: 'busy', problem: 'was not rendered, because the service stops' })
  })
})

describe('a template that no limit of the engine stops', () => {
  test.each([
    ['endless', 'did not end by itself and was ended: it is tried again after a rest', 'time'],
    [
      'hungry',
      /^(took too much memory|did not end by itself) and was ended: it is tried again after a rest$/,
      /^(memory|time)$/,
    ],
    ['deadly', 'could not be rendered, an internal error: please report it with the template', 'died'],
  ] as const)('%s: is ended with its thread, and said so', async (fault, problem, reason) => {
    const { one } = start()
    const rendered = await one(1, { fault })
    expect(rendered).toMatchObject({
      kind: 'ended',
      problem: typeof problem === 'string' ? problem : expect.stringMatching(problem),
    })
    expect(logged).toMatchObject([
      [
        { account: 1, reason: typeof reason === 'string' ? reason : expect.stringMatching(reason) },
        expect.stringMatching('was ended because it did not stop by itself'),
      ],
    ])
    expect(await one(2)).toEqual({ text: 'is 1' })
  })

  test('delays nobody: what came with it and after it is rendered while it still runs', async () => {
    const { one, stop } = start({ limits: { cpuUs: 1e12, ticksUnknown: 1e9, ticks: 1e9 } })
    let isEnded = false
    const endless = one(1, { fault: 'endless' }).finally(() => {
      isEnded = true
    })
    const beside = await Promise.all(Array.from({ length: 20 }, (_, at) => one(2 + at)))
    // An account has one thread at a time: its other templates wait.
    const waiting = one(1, {}, 'another')
    expect([isEnded, beside]).toEqual([false, beside.map(() => ({ text: 'is 1' }))])
    expect(await one(3)).toEqual({ text: 'is 1' })
    expect(isEnded).toBe(false)
    await stop()
    expect([await endless, await waiting]).toMatchObject([{ kind: 'busy' }, { kind: 'busy' }])
  })

  test('leaves nothing behind when it was slow: what another thread took over is rendered by either', async () => {
    const { one } = start({ limits: { cpuUs: 1e12, ticksUnknown: 1e9, ticks: 1e9 } })
    for (let round = 0; round < 4; round += 1) {
      const text = `round ${round}`
      const slow = one(1, { fault: 'slow' }, `slow ${text}`)
      expect(await one(2, {}, text)).toEqual({ text })
      await slow
      const again = await Promise.all([one(3, { fault: 'slow' }), one(2, {}, text), one(1, {}, text)])
      expect(again).toEqual([{ text: 'is 1' }, { text }, { text }])
    }
  })

  test('is charged for: an account that tries one after the other waits, but for its own purpose alone', async () => {
    const { one, render } = start({ steadyUs: () => 0 })
    const kinds: string[] = []
    for (let n = 0; n < 10; n += 1) {
      const rendered = await one(1, { fault: 'endless' }, `template ${n}`)
      kinds.push('kind' in rendered ? rendered.kind : 'text')
    }
    expect(kinds[0]).toBe('ended')
    expect(kinds.at(-1)).toBe('busy')
    const reading = { accountId: 1, purpose: 'reading', templates: { body: { text: 'read' } }, data: '{}' } as const
    expect(await render(reading)).toEqual({ body: { text: 'read' } })
    expect(await one(2)).toEqual({ text: 'is 1' })
  })

  test('rests longer each time; other templates of its account do not', async () => {
    const clock = { us: 0 }
    const { one } = start({ steadyUs: () => clock.us })
    const resting = { kind: 'resting', problem: 'took too long, or too much memory: it is tried again after a rest' }
    expect(await one(1, { fault: 'endless' })).toMatchObject({ kind: 'ended' })
    const before = threads
    expect(await one(1)).toEqual(resting as never)
    expect(await one(2)).toEqual({ text: 'is 1' })
    clock.us += 50 * SECOND
    expect(await one(1)).toEqual(resting as never)
    expect(await one(1, {}, 'another')).toEqual({ text: 'another' })
    clock.us += 20 * SECOND
    expect(await one(1, { fault: 'endless' })).toMatchObject({ kind: 'ended' })
    clock.us += 70 * SECOND
    expect(await one(1)).toEqual(resting as never)
    clock.us += 60 * SECOND
    expect(await one(1)).toEqual({ text: 'is 1' })
    expect(threads).toBeGreaterThanOrEqual(before)
  })

  test('one after the other, of many accounts: all others are rendered', async () => {
    const { one } = start()
    const all = await Promise.all(
      Array.from({ length: 60 }, (_, at) => one(at, at % 6 === 0 ? { fault: 'endless' } : {}, `${at}`)),
    )
    for (const [at, rendered] of all.entries()) {
      // On a busy machine they may have waited for too long.
      if (at % 6 === 0) expect(rendered).toMatchObject({ kind: expect.stringMatching(/ended|busy/) })
      else if ('text' in rendered) expect(rendered).toEqual({ text: `${at}` })
      else expect(rendered).toMatchObject({ kind: 'busy' })
    }
    let later = await one(1, {}, 'later')
    while ('kind' in later && later.kind === 'busy') later = await one(1, {}, 'later')
    expect(later).toEqual({ text: 'later' })
  })
})

test('accounts take turns: one with much to render does not hold up another', async () => {
  const { one } = start()
  const order: number[] = []
  const many = Array.from({ length: 500 }, () => one(1).then(() => order.push(1)))
  await one(2).then(() => order.push(2))
  expect(order.length).toBeLessThan(500)
  await Promise.all(many)
})
