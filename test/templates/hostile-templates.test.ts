import { expect, test } from 'bun:test'
import { EXAMPLES } from '../../src/events/samples.ts'
import { createTemplateRenderer } from '../../src/templates/renderer.ts'
import { readTemplate } from '../../src/templates/template.ts'
import { hostileTemplate } from '../help/hostile-template.ts'
import { createRandom } from '../help/random.ts'
import { scaled, seedOf } from '../help/seed.ts'

const TEMPLATES = scaled(500)
const SEED = seedOf(13)
const MESSAGE = /^(line \d+, column \d+: \S|may have |gives |takes |took |needs |has |a date|searches |compares )/

const renderer = createTemplateRenderer()

test(`each of ${TEMPLATES} hostile templates gives a text or a clear error, and other accounts go on beside it`, async () => {
  const random = createRandom(SEED)
  const problems = new Map<string, number>()
  for (let n = 0; n < TEMPLATES; n += 1) {
    const text = hostileTemplate(random)
    const data = JSON.stringify(random.pick(EXAMPLES))
    const render = (accountId: number, template: string) =>
      renderer.render({ accountId, purpose: 'sending', templates: { body: { text: template } }, data })
    const [hostile, good] = await Promise.all([render(1 + n, text), render(0, '{{ data.name | json }}')])
    expect([SEED, text, good]).toEqual([SEED, text, { body: { text: expect.stringMatching(/^"\w+"$/) } }])
    const { body } = hostile
    if ('text' in body) continue
    expect([SEED, text, body.problem]).toEqual([SEED, text, expect.stringMatching(MESSAGE)])
    expect(body.problem).not.toMatch(/\n|node_modules|\bat \//)
    const kind = `${body.kind}: ${body.problem.replace(/^line \d+, column \d+: /, '').slice(0, 20)}`
    problems.set(kind, (problems.get(kind) ?? 0) + 1)
  }
  console.log(`seed ${SEED}: ${[...problems].map(([kind, count]) => `${count} × ${kind}`).join('; ')}`)
  expect(problems.size).toBeGreaterThan(5)
}, 3_600_000)

test('the engine itself stops each of them', () => {
  const random = createRandom(SEED + 1)
  let longestMs = 0
  for (let n = 0; n < TEMPLATES; n += 1) {
    const text = hostileTemplate(random)
    const before = process.threadCpuUsage()
    const template = readTemplate(text)
    if (typeof template === 'function') template(random.pick(EXAMPLES))
    const { user, system } = process.threadCpuUsage(before)
    longestMs = Math.max(longestMs, (user + system) / 1_000)
    // Processor time of this thread, not of the clock: a template without bounds would take minutes.
    expect([SEED, text, longestMs < 10_000]).toEqual([SEED, text, true])
  }
  console.log(`seed ${SEED + 1}: the longest took ${longestMs.toFixed(1)} ms`)
})
