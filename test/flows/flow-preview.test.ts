import { describe, expect, test } from 'bun:test'
import { previewFlow } from '../../src/flows/flow-preview.ts'
import { flowOfSteps, type NewStep } from '../../src/flows/model.ts'
import { createStepRenderer } from '../../src/flows/step-renderer.ts'
import { TEMPLATES } from '../help/templates.ts'

const MAX_PREVIEWED = 200
const renderer = createStepRenderer(TEMPLATES, { accountId: 1, purpose: 'trying' })
const event = (sequence: number) => ({
  name: 'dial_started',
  callId: 'c1',
  body: JSON.stringify({ time: '2026-11-20T21:51:36.014118Z', data: { name: 'dial_started', sequence, call: {} } }),
})
const preview = (steps: readonly Omit<NewStep, 'on'>[], events: readonly ReturnType<typeof event>[]) =>
  previewFlow({
    flow: flowOfSteps({ steps: steps.map((step) => ({ ...step, on: ['dial_started'] })) }),
    answers: new Map(),
    webhookUrl: 'https://crm.example/',
    events,
    secrets: [],
    renderer,
  })
const times = (count: number) => Array.from({ length: count }, (_, at) => event(at))
const elements = (count: number): string => JSON.stringify(Array.from({ length: count }, (_, at) => at))

describe('a preview', () => {
  test('counts requests, not the steps that are skipped', async () => {
    const skipped = Array.from({ length: 19 }, (_, at) => ({ name: `skipped_${at}`, needs: ['none'] }))
    const { steps, truncated } = await preview([...skipped, { name: 'sent' }], times(MAX_PREVIEWED))
    expect(steps.filter((one) => one.skipped === null)).toHaveLength(MAX_PREVIEWED)
    expect(steps).toHaveLength(20 * MAX_PREVIEWED)
    expect(truncated).toBeNull()
  })

  test('says where it ends if there are more requests', async () => {
    const steps = [{ name: 'many', each: elements(40) }, { name: 'more' }]
    const made = await preview(steps, times(6))
    expect(made.steps).toHaveLength(MAX_PREVIEWED)
    expect(made.truncated).toEqual({
      event: 'dial_started',
      step: 'many',
      reason: 'a preview has at most 200 requests',
    })
  })

  test('says where it ends if it is too long', async () => {
    const long = { ...event(1), body: JSON.stringify({ time: null, data: { text: 'x'.repeat(200_000) } }) }
    const made = await preview([{ name: 'long', each: elements(5), body: '{{ data.text }}' }, { name: 'more' }], [long])
    expect(made.truncated).toEqual({
      event: 'dial_started',
      step: 'more',
      reason: 'a preview has at most 1000000 characters',
    })
  })
})
