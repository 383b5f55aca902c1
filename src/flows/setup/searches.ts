import { EVENT_NAMES } from '../../events/kinds.ts'
import { valueAt } from '../../lib/json-pointer.ts'
import { begins } from '../flow-machine.ts'
import type { Kept, KeptValue } from '../model.ts'
import type { Preset, PresetStep } from '../preset.ts'
import type { Trial, TrialRequests } from './trial-request.ts'

/**
 * The searches of a preset: the requests of its calls that change nothing. They are made for a number and a call that
 * do not exist, so that a right that a key lacks is known before the first call.
 */

/** No country has this code. */
const UNKNOWN_NUMBER = '+999000000000'
const UNKNOWN_CALL = '00000000-0000-7000-8000-000000000000'

/** Returns the steps that change nothing: those that read, and those at which others look before they repeat. */
function searchesOf({ steps }: Preset): readonly PresetStep[] {
  const looked = new Set(steps.flatMap(({ again, when = [] }) => [again, ...when.map((rule) => rule.step)]))
  return steps.filter(({ name, method, each }) => each == null && (method === 'GET' || looked.has(name)))
}

/** Sends the searches, in their order. Returns the first error, with the name of its step; `null` without one. */
export async function findSearchError(
  requests: TrialRequests,
  trial: Trial,
  samples: ReadonlyMap<string, string>,
): Promise<string | null> {
  let found: Kept = {}
  for (const { source: _source, answer: _answer, inTurn: _inTurn, ...step } of searchesOf(trial.preset)) {
    const event = EVENT_NAMES.find((name) => begins(step, name))
    const needs = step.needs ?? []
    const kept = { ...documentedValues(trial.preset, needs), ...found }
    if (needs.some((name) => kept[name] === undefined)) continue
    const asked = await requests.send(trial, step, { body: unknownCallOf(samples.get(event ?? '') ?? '{}'), kept })
    if ('skipped' in asked) continue
    if (asked.error !== null) return `the request "${step.name}", which every call needs: ${asked.error}`
    found = { ...found, ...asked.kept }
  }
  return null
}

/**
 * Returns needed values from the vendor's documented answers: ids of the right form that this CRM did not give. A file
 * that documents no answer has each value's own name in its place: a CRM may refuse it where it expects a number.
 */
function documentedValues({ steps }: Preset, needs: readonly string[]): Kept {
  const known = steps.flatMap(({ keep = {}, answer }) =>
    Object.entries(keep).flatMap(([name, pointer]): [string, KeptValue][] => {
      const value = valueAt(answer.body, pointer)
      return (typeof value === 'string' || typeof value === 'number') && value !== name ? [[name, value]] : []
    }),
  )
  // Of several steps that keep a value, the first documents it.
  const first = Object.fromEntries(known.toReversed())
  return Object.fromEntries(needs.flatMap((name) => (first[name] === undefined ? [] : [[name, first[name]]])))
}

function unknownCallOf(sample: string): string {
  // The samples are this program's own.
  const body: { data?: { call?: { id: string; from: object } } } = JSON.parse(sample)
  const call = body.data?.call
  if (call !== undefined) {
    call.id = UNKNOWN_CALL
    call.from = { ...call.from, number: UNKNOWN_NUMBER, e164: UNKNOWN_NUMBER, name: null, contact: null }
  }
  return JSON.stringify(body)
}
