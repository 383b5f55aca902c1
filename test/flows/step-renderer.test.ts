import { describe, expect, test } from 'bun:test'
import { type NewStep, stepOf } from '../../src/flows/model.ts'
import { createStepRenderer, type StepData } from '../../src/flows/step-renderer.ts'
import { TEMPLATES } from '../help/templates.ts'

const renderer = createStepRenderer(TEMPLATES, { accountId: 1, purpose: 'sending' })
const step = (parts: Partial<NewStep>) => stepOf({ name: 'one', on: ['call_ended'], ...parts })
const DATA: StepData = {
  body: '{"time":"2026-11-20T21:51:36.014118Z","data":{"name":"call_ended","call":{"id":"c1","from":{"name":"A \\"B\\""}}}}',
  kept: { contact: 'x/7' },
  merged: [{ kept: { contact: 'm' } }],
  parameters: { users: { '101': 'u1' }, key: 'k' },
}

describe('the templates of a step', () => {
  test('have the event, kept values, parameters and the element', async () => {
    const made = step({
      url: '/c/{{ kept.contact }}?m={{ merged[0].kept.contact }}',
      headers: { 'x-key': '{{ parameters.key }}', 'x-name': '{{ data.call.from.name }}é' },
      body: '{"n":"{{ data.call.from.name }}","t":{{ time | seconds }},"u":"{{ item.e | map: parameters.users }}","i":{{ item }}}',
    })
    expect(await renderer.request(made, { ...DATA, item: { e: '101' } })).toEqual({
      request: {
        url: '/c/x%2F7?m=m',
        headers: { 'x-key': 'k', 'x-name': 'A "B"?' },
        body: '{"n":"A \\"B\\"","t":1795211496,"u":"u1","i":{"e":"101"}}',
        fields: {},
      },
    })
  })

  test('have an item of null too', async () => {
    const made = step({ body: '{"i":{{ item }}}' })
    expect(await renderer.request(made, { ...DATA, item: null })).toHaveProperty('request.body', '{"i":null}')
  })

  test('make the fields of a form for an upload', async () => {
    const made = step({ upload: { field: 'file', fields: { id: '{{ kept.contact }}' } } })
    expect(await renderer.request(made, DATA)).toHaveProperty('request.fields', { id: 'x/7' })
  })

  test.each([
    [null, false],
    ['', true],
    [' \n', true],
    ['false', true],
    ['{{ kept.none }}', true],
    ['{{ kept.contact }}', false],
    ['{% if kept.contact %} true {% endif %}', false],
  ])('skip it for the condition %p: %p', async (condition, isSkipped) => {
    const rendered = await renderer.request(step({ if: condition, body: '{{ none | raw }}x' }), DATA)
    expect('skipped' in rendered).toBe(isSkipped)
  })

  test.each<[string, Partial<NewStep>, string]>([
    ['url', { url: '\n{{ a | none }}' }, 'url: line 2, column 1: undefined filter: none'],
    ['headers/x-a', { headers: { 'x-a': '{{' } }, 'headers/x-a: line 1, column 1: output "{{" not closed'],
    ['body', { body: '{"a": {{ "x" | raw }}}' }, 'body: is not JSON: '],
    ['if', { if: '{% nonsense %}' }, 'if: line 1, column 1: tag "nonsense" not found'],
  ])('say in which field they fail: %s', async (field, parts, problem) => {
    const rendered = await renderer.request(step(parts), DATA)
    expect(rendered).toMatchObject({ field, problem: expect.stringContaining(problem) })
  })

  test('are all parsed', async () => {
    const parts = {
      url: '{{',
      body: '{% if %}',
      each: '{{ a | b }}',
      headers: { 'x-a': '{{ x }}' },
      if: '{{ kept.a | raw }}',
    }
    const problems = await renderer.problems(step(parts))
    expect(problems.map(({ field }) => field).sort()).toEqual(['body', 'each', 'url'])
    expect(problems.every(({ problem }) => /line 1, column \d+/.test(problem))).toBe(true)
    expect(await renderer.problems(step({ body: '{"a":{{ kept.list | raw }}}' }))).toEqual([])
  })
})

describe('the elements of a step', () => {
  const elements = (each: string) => renderer.elements(step({ each }), DATA)
  test('are a JSON array', async () => {
    expect(await elements('[{{ data.call.id }},{"a":"{{ data.call.from.name }}"}]')).toEqual({
      elements: ['c1', { a: 'A "B"' }],
    })
    expect(await elements('[]')).toEqual({ elements: [] })
  })
  test.each([
    ['{{ data.call }}', 'each: does not render to a JSON array'],
    [' ', 'each: does not render to a JSON array'],
    ['[1', 'each: is not JSON: '],
    [
      '[{% for i in (1..51) %}{{ i }}{% unless forloop.last %},{% endunless %}{% endfor %}]',
      'each: renders to 51 elements; at most 50 are allowed',
    ],
  ])('%s is none', async (each, problem) =>
    expect(await elements(each)).toMatchObject({ field: 'each', problem: expect.stringContaining(problem) }),
  )
})
