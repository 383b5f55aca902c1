import { describe, expect, test } from 'bun:test'
import {
  againOf,
  judge,
  nextMove,
  type Progress,
  progressAfter,
  progressAgain,
  progressAnswered,
  progressBegun,
  progressJudged,
  stepInDoubt,
} from '../../src/flows/flow-machine.ts'
import { type Kept, type NewStep, type Rule, stepOf } from '../../src/flows/model.ts'
import { valueAt } from '../../src/lib/json-pointer.ts'

const step = (name: string, more: Partial<NewStep> = {}) => stepOf({ name, on: ['call_ended'], ...more })

describe('what comes next', () => {
  const steps = [
    step('find', { on: ['call_started'] }),
    step('create', { on: ['call_started', 'call_ended'] }),
    step('attach', { needs: ['id', 'owner'] }),
    step('note', { on: ['call_transferred'] }),
  ]
  const cases: [sentence: string, event: string, progress: Progress, kept: Kept, expected: string][] = [
    ['the first step of the event', 'call_started', {}, {}, 'make find 0'],
    ['the next one when it is done', 'call_started', { find: 'done' }, {}, 'make create 0'],
    ['the next one when it is skipped', 'call_started', { find: 'skipped' }, {}, 'make create 0'],
    ['the next element of a step with `each`', 'call_started', { find: { made: 3 } }, {}, 'make find 3'],
    ['the end when all have ended', 'call_started', { find: 'done', create: 'skipped' }, {}, 'end'],
    ['steps of other events are left out', 'call_ended', {}, {}, 'make create 0'],
    ['a step without what it needs is skipped', 'call_ended', { create: 'done' }, { id: 7 }, 'skip attach owner'],
    ['all that is missing is named', 'call_ended', { create: 'done' }, {}, 'skip attach id, owner'],
    ['a kept `false` or 0 is there', 'call_ended', { create: 'done' }, { id: 0, owner: false }, 'make attach 0'],
    ['no inherited property is a kept value', 'call_ended', { create: 'done' }, { owner: 1 }, 'skip attach id'],
    ['both kinds of transfer have one switch', 'call_blind_transferred', {}, {}, 'make note 0'],
    ['an attended one as well', 'call_attended_transferred', {}, {}, 'make note 0'],
    ['an event without a step', 'dial_started', {}, {}, 'end'],
    ['progress of steps that are gone is ignored', 'dial_started', { old: 'done' }, {}, 'end'],
  ]
  test.each(cases)('%s', (_, event, progress, kept, expected) => {
    const move = nextMove(steps, event, progress, kept)
    const said =
      move.kind === 'end'
        ? 'end'
        : move.kind === 'make'
          ? `make ${move.step.name} ${move.element}`
          : `skip ${move.step.name} ${/no value is kept for (.*)/.exec(move.reason)?.[1]}`
    expect(said).toBe(expected)
  })
})

describe('progress', () => {
  const cases: [string, Progress, Parameters<typeof progressAfter>[2], Progress][] = [
    ['of a step without `each`', {}, { element: 0, count: 1, as: 'done' }, { one: 'done' }],
    ['of one that is skipped', {}, { element: 0, count: 1, as: 'skipped' }, { one: 'skipped' }],
    ['of one without elements', {}, { element: 0, count: 0, as: 'skipped' }, { one: 'skipped' }],
    ['of the first element', {}, { element: 0, count: 3, as: 'done' }, { one: { made: 1 } }],
    ['of the last element', { one: { made: 2 } }, { element: 2, count: 3, as: 'skipped' }, { one: 'done' }],
    ['keeps that of other steps', { two: 'done' }, { element: 0, count: 1, as: 'done' }, { two: 'done', one: 'done' }],
  ]
  test.each(cases)('%s', (_, before, end, after) => {
    expect(progressAfter(before, { name: 'one' }, end)).toEqual(after)
  })
})

describe('a step that looks first when it is repeated', () => {
  const steps = [
    step('other', { keep: { other: '/id' } }),
    step('find', { keep: { id: '/id' }, when: [{ status: [404], then: 'done', keep: { state: '/state' } }] }),
    step('of_start', { on: ['call_started'], keep: { start: '/id' } }),
    step('between'),
    step('create', { again: 'find', keep: { id: '/id' } }),
    step('last'),
  ]
  const [create = step('create')] = steps.filter(({ name }) => name === 'create')
  const ended: Progress = { other: 'done', find: 'done', between: 'skipped' }
  const begun = progressBegun(ended, create, { element: 0, generation: 1 })
  const isInDoubt = (progress: Progress, generation = 1) => stepInDoubt(steps, 'call_ended', progress, generation)?.name

  test.each<[sentence: string, progress: Progress, generation: number, expected: string | undefined]>([
    ['has not begun', ended, 1, undefined],
    ['was in flight at a kill, or its answer was lost', begun, 1, 'create'],
    ['was answered', progressAnswered(begun, create), 1, undefined],
    ['was answered, and its delivery was sent again by hand', progressAnswered(begun, create), 2, 'create'],
    ['was in flight, and its delivery was sent again by hand', begun, 2, 'create'],
    ['is done', { ...begun, create: 'done' }, 2, undefined],
  ])('%s', (_, progress, generation, expected) => {
    expect(isInDoubt(progress, generation)).toBe(expected)
  })

  test.each([
    [200, 'again', true],
    [200, 'retry', false],
    [502, 'retry', true],
  ] as const)('after the answer %p, of which a rule says %p, looks again: %p', (status, then, expected) => {
    const judged = judge(step('create', { when: [{ status: [status], then }] }), { status, json: {} }, false)
    const after = progressJudged(begun, create, { element: 0, generation: 1, status, judged })
    expect([judged.verdict, isInDoubt(after)]).toEqual(['retry', expected ? 'create' : undefined])
  })

  test('begins again at the step that it names, which forgets what was kept from there on', () => {
    const again = progressAgain(steps, 'call_ended', begun, create)
    expect(again).toEqual({ progress: { other: 'done', create: { made: 0 } }, forgotten: ['id', 'state'] })
    expect(nextMove(steps, 'call_ended', again.progress, {})).toMatchObject({ kind: 'make', step: { name: 'find' } })
    expect(isInDoubt(again.progress)).toBeUndefined()
  })

  test('begins again at the step that a rule about its answer names, until that step was made', () => {
    const rule: Rule = { status: [401], then: 'again', step: 'other' }
    const withRule = steps.map((one) => (one.name === 'between' ? step('between', { when: [rule] }) : one))
    const between = step('between', { when: [rule] })
    const judged = judge(between, { status: 401, json: {} }, false)
    const done: Progress = { other: 'done', find: 'done' }
    const after = progressJudged(done, between, { element: 0, generation: 1, status: 401, judged })
    expect([judged.verdict, againOf(after, between)]).toEqual(['retry', 'other'])
    expect(stepInDoubt(withRule, 'call_ended', after, 1)?.name).toBe('between')
    const again = progressAgain(withRule, 'call_ended', after, between)
    expect(again).toEqual({ progress: { between: { made: 0 } }, forgotten: ['other', 'id', 'state'] })
    expect(stepInDoubt(withRule, 'call_ended', { ...done, ...again.progress }, 1)).toBeUndefined()
    // A lost answer, without the rule, still begins at the step's own `again`.
    const lost = progressJudged(begun, create, { element: 0, generation: 1, status: 502, judged: { rule: undefined } })
    expect(againOf(lost, create)).toBe('find')
  })

  test('its elements that are made stay made', () => {
    const later = progressBegun(ended, create, { element: 2, generation: 1 })
    const { progress } = progressAgain(steps, 'call_ended', later, create)
    const looked: Progress = { ...progress, find: 'done', between: 'done' }
    expect(nextMove(steps, 'call_ended', looked, {})).toMatchObject({ step: { name: 'create' }, element: 2 })
  })

  test('is repeated as it is if the flow was changed and has no such step any more', () => {
    const changed = steps.filter(({ name }) => name !== 'find')
    expect(progressAgain(changed, 'call_ended', begun, create)).toEqual({
      progress: { ...ended, create: { made: 0 } },
      forgotten: [],
    })
  })

  test('a step without `again` is never in doubt', () => {
    expect(stepInDoubt([step('create')], 'call_ended', { create: { made: 1, begun: 1 } }, 1)).toBeUndefined()
  })

  test('an answer is lost if something in between did not wait for it', () => {
    const lost = [200, 400, 404, 408, 409, 429, 500, 501, 502, 503, 504].filter((status) => {
      const at = { element: 0, generation: 1, status, judged: { rule: undefined } }
      return isInDoubt(progressJudged(begun, create, at)) === 'create'
    })
    expect(lost).toEqual([408, 502, 504])
  })
})

describe('what an answer means', () => {
  const big = 'x'.repeat(1_025)
  const json = (status: number, body: unknown): Parameters<typeof judge>[1] => ({ status, json: body })
  const cases: [string, Partial<NewStep>, Parameters<typeof judge>[1], boolean, string][] = [
    ['2xx without a rule', {}, json(204, undefined), false, 'done {}'],
    ['5xx without a rule', {}, json(503, {}), true, 'retry {}'],
    ['4xx without a rule', {}, json(404, {}), true, 'retry {}'],
    ['3xx without a rule', {}, json(302, {}), true, 'retry {}'],
    ['401 with an authorization', {}, json(401, {}), true, 'renew {}'],
    ['401 after the renewal, or without an authorization', {}, json(401, {}), false, 'retry {}'],
    ['a rule by status', { when: [{ status: [409], then: 'done' }] }, json(409, {}), false, 'done {}'],
    ['a rule by class', { when: [{ status: '4xx', then: 'fail' }] }, json(404, {}), false, 'fail {}'],
    ['a class that does not match', { when: [{ status: '4xx', then: 'fail' }] }, json(500, {}), false, 'retry {}'],
    [
      'a 200 with an error',
      { when: [{ pointer: '/error', then: 'retry' }] },
      json(200, { error: 'x' }),
      false,
      'retry {}',
    ],
    ['an empty error', { when: [{ pointer: '/error', then: 'retry' }] }, json(200, { error: '' }), false, 'done {}'],
    ['a null', { when: [{ pointer: '/error', then: 'retry' }] }, json(200, { error: null }), false, 'done {}'],
    ['an empty list', { when: [{ pointer: '/error', then: 'retry' }] }, json(200, { error: [] }), false, 'done {}'],
    ['an empty object', { when: [{ pointer: '/error', then: 'retry' }] }, json(200, { error: {} }), false, 'done {}'],
    [
      '`false` and 0 are there',
      { when: [{ pointer: '/ok', then: 'fail' }] },
      json(200, { ok: false }),
      false,
      'fail {}',
    ],
    [
      'one of the values',
      { when: [{ pointer: '/error', values: ['LIMIT', '7'], then: 'retry' }] },
      json(200, { error: 7 }),
      false,
      'retry {}',
    ],
    [
      'another value',
      { when: [{ pointer: '/error', values: ['LIMIT'], then: 'retry' }] },
      json(200, { error: 'OTHER' }),
      false,
      'done {}',
    ],
    [
      'an object is none of the values',
      { when: [{ pointer: '/error', values: ['[object Object]'], then: 'retry' }] },
      json(200, { error: { a: 1 } }),
      false,
      'done {}',
    ],
    [
      'a rule by pointer without JSON',
      { when: [{ pointer: '', then: 'fail' }] },
      json(200, undefined),
      false,
      'done {}',
    ],
    [
      'status and pointer both have to match',
      { when: [{ status: [400], pointer: '/error', then: 'fail' }] },
      json(500, { error: 1 }),
      false,
      'retry {}',
    ],
    [
      'the first rule that matches',
      {
        when: [
          { status: '2xx', then: 'fail' },
          { status: [200], then: 'done' },
        ],
      },
      json(200, {}),
      false,
      'fail {}',
    ],
    ['a rule that renews', { when: [{ status: [403], then: 'renew' }] }, json(403, {}), true, 'renew {}'],
    [
      'a rule that renews, a second time',
      { when: [{ status: [403], then: 'renew' }] },
      json(403, {}),
      false,
      'retry {}',
    ],
    ['kept values', { keep: { id: '/result/0/id' } }, json(200, { result: [{ id: 7 }] }), false, 'done {"id":7}'],
    [
      'values that are not there',
      { keep: { id: '/result/1/id' } },
      json(200, { result: [{ id: 7 }] }),
      false,
      'done {}',
    ],
    ['objects and null are not kept', { keep: { a: '', b: '/b' } }, json(200, { b: null }), false, 'done {}'],
    [
      'more than 1 KiB is not kept',
      { keep: { a: '/a', b: '/b' } },
      json(200, { a: big, b: true }),
      false,
      'done {"b":true}',
    ],
    ['a failure keeps nothing', { keep: { id: '/id' } }, json(500, { id: 1 }), false, 'retry {}'],
    [
      'a rule keeps, too',
      { keep: { id: '/id' }, when: [{ status: [409], then: 'done', keep: { id: '/existing' } }] },
      json(409, { existing: 'x' }),
      false,
      'done {"id":"x"}',
    ],
    [
      'a rule keeps whatever its verdict is',
      { when: [{ status: [423], then: 'retry', keep: { lock: '/lock' } }] },
      json(423, { lock: 'x' }),
      false,
      'retry {"lock":"x"}',
    ],
  ]
  test.each(cases)('%s', (_, more, answer, mayRenew, expected) => {
    const { verdict, kept } = judge(step('one', more), answer, mayRenew)
    expect(`${verdict} ${JSON.stringify(kept)}`).toBe(expected)
  })
})

describe('a pointer', () => {
  const document = { a: [{ b: 1 }], 'x/y': 2, 'm~n': 3, '': 4, length: 5 }
  const cases: [string, unknown][] = [
    ['', document],
    ['/a/0/b', 1],
    ['/x~1y', 2],
    ['/m~0n', 3],
    ['/', 4],
    ['/length', 5],
    ['/a/length', undefined],
    ['/a/-', undefined],
    ['/a/00', undefined],
    ['/a/1', undefined],
    ['/a/0/b/c', undefined],
    ['/constructor', undefined],
    ['/__proto__/polluted', undefined],
  ]
  test.each(cases)('`%s`', (pointer, expected) => {
    expect(valueAt(document, pointer)).toEqual(expected)
  })
})
