import { describe, expect, test } from 'bun:test'
import { SECOND } from '../../src/lib/time.ts'
import { EXAMPLES } from '../../src/openapi/examples.ts'
import { createRenderBudgets, createRenderer } from '../../src/webhooks/options/body-renderer.ts'
import { parseTemplate, TemplateError } from '../../src/webhooks/options/body-template.ts'
import { createRandom, type Random } from '../help/random.ts'

const TEMPLATES = 10_000
/** Of this thread's processor, not of the clock: what grows without bounds takes minutes. The longest is printed: some 25 ms. */
const ENDLESS_MS = 10_000

const PATHS = [
  ...[
    'data',
    'time',
    'data.name',
    'data.call.from.number',
    'data.call',
    'data.stages',
    'data.call.variables',
    's',
    'a',
  ],
  ...[
    'data.__proto__',
    'data.constructor.constructor',
    'forloop',
    'i',
    '"x"',
    '1',
    '-1',
    '1e308',
    'nil',
    'true',
    '(1..9999)',
  ],
]
const FILTERS = [
  ...[
    'append: s',
    'prepend: "xxxxxxxx"',
    'replace: "a", "aaaaaaaa"',
    'split: ""',
    'join: ","',
    'concat: data.stages',
    'sort',
    'uniq',
  ],
  ...[
    'map: "name"',
    'where: "name", "x"',
    'json',
    'date: "%999999d"',
    'times: 1e9',
    'divided_by: 0',
    'modulo: 0',
    'slice: -9, 99',
  ],
  ...[
    'truncate: 99999999',
    'url_encode',
    'escape',
    'base64_encode',
    'size',
    'reverse',
    'first',
    'compact',
    'default: a',
    'nonsense',
  ],
]

const NO_LIQUID = [
  '{{',
  '}}',
  '{%',
  '%}',
  '{% endfor %}',
  '{% raw %}',
  '{{ {{ }}',
  '\u0000',
  '\ud800',
  '{% include "x" %}',
]

/** Makes a template of tags that nest, loops, filters one after the other, and text that is no Liquid at all. */
function templateOf(random: Random, depth = 0): string {
  const value = () =>
    [random.pick(PATHS), ...Array.from({ length: random.int(4) }, () => random.pick(FILTERS))].join(' | ')
  const inner = () => (depth > 4 ? '' : templateOf(random, depth + 1))
  const parts: readonly (() => string)[] = [
    () => `{{ ${value()} }}`,
    () => `{% assign ${random.pick(['s', 'a'])} = ${value()} %}`,
    () => `{% for i in ${random.pick(['(1..100000)', '(1..50)', 'data.stages', 'a', 's'])} %}${inner()}{% endfor %}`,
    () => `{% capture s %}{{ s }}{{ s }}${inner()}{% endcapture %}`,
    () =>
      `{% if ${random.pick(PATHS)} ${random.pick(['==', 'contains', '<', 'and'])} ${random.pick(PATHS)} %}${inner()}{% else %}${inner()}{% endif %}`,
    () => `{% case ${random.pick(PATHS)} %}{% when "x" %}${inner()}{% endcase %}`,
    () => (random.chance(0.1) ? random.pick(NO_LIQUID) : 'text '.repeat(random.int(20))),
  ]
  return Array.from({ length: 1 + random.int(6) }, () => random.pick(parts)()).join('')
}

describe('of 10,000 random templates', () => {
  test('each gives a text or a clear error, soon, for an event of any kind', () => {
    const random = createRandom(13)
    const errors = new Map<string, number>()
    let longestMs = 0
    for (let n = 0; n < TEMPLATES; n += 1) {
      const template = templateOf(random)
      const before = process.threadCpuUsage()
      try {
        expect(parseTemplate(template)(random.pick(EXAMPLES))).toBeString()
      } catch (error) {
        if (!(error instanceof TemplateError))
          throw new Error(`the template ${JSON.stringify(template)}`, { cause: error })
        expect(error.message).toMatch(/^(line \d+, column \d+: \S|may have |gives |takes |needs |has |a date)/)
        expect(error.message).not.toMatch(/\n|node_modules|\bat \//)
        const kind = error.message.replace(/^line \d+, column \d+: /, '').slice(0, 20)
        errors.set(kind, (errors.get(kind) ?? 0) + 1)
      }
      const { user, system } = process.threadCpuUsage(before)
      const tookMs = (user + system) / 1_000
      expect([template.slice(0, 200), tookMs < ENDLESS_MS]).toEqual([template.slice(0, 200), true])
      longestMs = Math.max(longestMs, tookMs)
    }
    console.log(`longest ${longestMs.toFixed(1)} ms; ${[...errors.values()].reduce((sum, one) => sum + one, 0)} errors`)
    expect(errors.size).toBeGreaterThan(5)
  })
})

test('the templates of an account have one budget: many that are quick enough each are delayed together', () => {
  const clock = { nowUs: 0 }
  const steadyUs = () => {
    clock.nowUs += 4_500
    return clock.nowUs
  }
  const budgetOf = createRenderBudgets()
  const rendererOf = (accountId: number) =>
    createRenderer({ template: '{{ data.name }}', contentType: 'text/plain' }, steadyUs, budgetOf(accountId))
  const renderers = Array.from({ length: 100 }, () => rendererOf(1))
  const body = JSON.stringify(EXAMPLES[0])
  expect(() => {
    for (const render of renderers) render(body)
  }).toThrow('takes too long for so many events: it is tried again later')
  expect(rendererOf(2)(body).text).toBe('call_started')
})

describe('a template that takes much of the time', () => {
  /** Each reading of the clock is so much later: as long as a rendering takes. */
  const renderer = (tookUs: number) => {
    const clock = { nowUs: 0 }
    const render = createRenderer({ template: '{{ data.name }}', contentType: 'text/plain' }, () => {
      clock.nowUs += tookUs / 2
      return clock.nowUs
    })
    return { render, clock }
  }
  const body = JSON.stringify(EXAMPLES[0])

  test('is delayed after a burst, and goes on later', () => {
    const { render, clock } = renderer(9_000)
    let rendered = 0
    expect(() => {
      for (; rendered < 1_000; rendered += 1) render(body)
    }).toThrow('takes too long for so many events: it is tried again later')
    // The burst of 200 ms, and a share of the time meanwhile.
    expect(rendered).toBeGreaterThan(15)
    expect(rendered).toBeLessThan(200)
    clock.nowUs += 60 * SECOND
    expect(render(body).text).toBe('call_started')
  })

  test('a usual one is never delayed', () => {
    const { render } = renderer(30)
    for (let n = 0; n < 10_000; n += 1) expect(render(body).text).toBe('call_started')
  })
})
