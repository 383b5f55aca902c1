import { describe, expect, test } from 'bun:test'
import { SECOND } from '../../src/lib/time.ts'
import { createTemplateRenderer } from '../../src/templates/renderer.ts'

/** Reaches the limit of units, whatever the machine does. */
const COSTLY = '{% for i in (1..100000000) %}{{ i }}{% endfor %}'

/** Uses all its units one by one, some milliseconds. */
const LONG = '{% for i in (1..100) %}{% for j in (1..100) %}{{ j }}{% endfor %}{% endfor %}'

function start(steadyUs: () => number = () => 0) {
  const { render } = createTemplateRenderer({ steadyUs })
  const one = async (accountId: number, text = 'is {{ one }}') => {
    const templates = { body: { text } }
    return (await render({ accountId, purpose: 'sending', templates, data: '{"one":1}' })).body
  }
  return { render, one }
}

describe('a renderer', () => {
  test('renders named templates with the same data, each with a result or a problem of its own', async () => {
    const { render } = start()
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

  test('ends what is costly, and says so', async () => {
    const { one } = start()
    expect(await one(1, COSTLY)).toMatchObject({ kind: 'costly', problem: expect.stringMatching(/needs more memory/) })
    expect(await one(1)).toEqual({ text: 'is 1' })
  })

  test('counts the templates of a request together', async () => {
    const { render } = start()
    // Many units and little time, so that the units decide on any machine.
    const [one, text] = ['x'.repeat(20_000), '{{ one }}{{ one }}']
    const request = { accountId: 1, purpose: 'sending', data: JSON.stringify({ one }) } as const
    expect(await render({ ...request, templates: { a: { text } } })).toEqual({ a: { text: one + one } })
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`t${at}`, { text }]))
    const rendered = Object.values(await render({ ...request, templates: many }))
    expect(rendered[0]).toEqual({ text: one + one })
    expect(rendered.at(-1)).toMatchObject({ kind: 'costly' })
  })

  test('renders the whole body of the largest event, since its size is not the fault of the template', async () => {
    const { render } = start()
    const data = JSON.stringify({ data: { stages: Array.from({ length: 900 }, (_, at) => STAGE(at)) } })
    expect(data.length).toBeGreaterThan(200_000)
    const templates = { body: { text: '{{ data | json }}', isJson: true } }
    const { body } = await render({ accountId: 1, purpose: 'sending', templates, data })
    expect('text' in body && JSON.parse(body.text)).toEqual(JSON.parse(data).data)
  })

  test('lets the event loop go on beside many costly templates of other accounts', async () => {
    const { one } = start()
    let turns = 0
    let isOver = false
    const count = (): void => {
      turns += 1
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    await Promise.all(Array.from({ length: 100 }, (_, at) => one(at, `${LONG}${at}`)))
    isOver = true
    expect(turns).toBeGreaterThan(5)
  })
})

describe('a costly template', () => {
  test('rests after three renderings in a row, longer each time; other templates of its account do not', async () => {
    const clock = { us: 0 }
    const { one } = start(() => clock.us)
    const resting = { kind: 'resting', problem: 'took too long, or too much memory: it is tried again after a rest' }
    const rests = async () => {
      for (let n = 0; n < 3; n += 1) {
        expect(await one(1, COSTLY)).toMatchObject({ kind: 'costly' })
        // Its budget is there again.
        clock.us += 10 * SECOND
      }
    }
    await rests()
    expect(await one(1, COSTLY)).toEqual(resting as never)
    expect(await one(1, 'another')).toEqual({ text: 'another' })
    clock.us += 50 * SECOND
    await rests()
    clock.us += 80 * SECOND
    expect(await one(1, COSTLY)).toEqual(resting as never)
    clock.us += 60 * SECOND
    expect(await one(1, COSTLY)).toMatchObject({ kind: 'costly' })
  })

  test('is charged for: an account that tries one after the other waits, but for its own purpose alone', async () => {
    const { one, render } = start()
    const kinds: string[] = []
    // The system counts the time in ticks: some renderings cost nothing, others a whole tick.
    while (kinds.at(-1) !== 'busy') {
      const rendered = await one(1, `${COSTLY}${kinds.length}`)
      kinds.push('kind' in rendered ? rendered.kind : 'text')
    }
    expect(kinds[0]).toBe('costly')
    const reading = { accountId: 1, purpose: 'reading', templates: { body: { text: 'read' } }, data: '{}' } as const
    expect(await render(reading)).toEqual({ body: { text: 'read' } })
    expect(await one(2)).toEqual({ text: 'is 1' })
  })
})

/** A stage with long names, as large as one may be. */
const STAGE = (at: number) => ({
  id: `01a1f900-5d1a-7000-8000-${String(at).padStart(12, '0')}`,
  parent_id: null,
  kind: 'user',
  target: '101',
  name: 'x'.repeat(60),
  attempt: at,
  started_at: '2026-11-20T21:51:36.204118Z',
  result: 'answered',
})
