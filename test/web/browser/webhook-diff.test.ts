import { describe, expect, test } from 'bun:test'
import type { Webhook } from '../../../src/web/browser/lib/resources.ts'
import { diffWebhooks, mergeWebhooks, singleChange } from '../../../src/web/browser/lib/webhook-diff.ts'
import {
  addRow,
  countUrl,
  draftWebhooks,
  editRow,
  errorsByRow,
  markRemoved,
  newDraft,
  rebaseDraft,
} from '../../../src/web/browser/lib/webhook-draft.ts'

const hook = (url: string, change: Partial<Webhook> = {}): Webhook => ({
  url,
  call_started: true,
  call_ended: true,
  call_saved: true,
  call_transferred: true,
  dial_started: true,
  dial_answered: true,
  dial_ended: true,
  ...change,
})
const A = hook('https://a.example/')
const B = hook('https://b.example/')
const quietA = hook('https://a.example/', { dial_started: false })
const urls = (list: readonly Webhook[]) => list.map((webhook) => webhook.url)

test.each([
  ['nothing', [A, B], [A, B], []],
  ['one more', [A], [A, B], [{ kind: 'added', url: B.url }]],
  ['one less', [A, B], [B], [{ kind: 'removed', url: A.url }]],
  ['a switch', [A], [quietA], [{ kind: 'switched', url: A.url, on: [], off: ['dial_started'] }]],
  ['the order', [A, B], [B, A], [{ kind: 'moved' }]],
  ['the second of two alike', [A, A], [A], [{ kind: 'removed', url: A.url }]],
  [
    'another URL',
    [A],
    [B],
    [
      { kind: 'removed', url: A.url },
      { kind: 'added', url: B.url },
    ],
  ],
] as const)('the difference of two lists: %s', (_, before, after, expected) =>
  expect(diffWebhooks(before, after)).toEqual([...expected] as never),
)

test.each([
  ['one more at the end', [A], [A, B], { kind: 'append', webhook: B }],
  ['the first one', [], [quietA], { kind: 'append', webhook: quietA }],
  ['one less', [A, B], [B], { kind: 'remove', url: A.url }],
  ['nothing', [A, B], [A, B], null],
  ['one more before others', [A], [B, A], null],
  ['a second one alike', [A], [A, A], null],
  ['one of two alike', [A, A], [A], null],
  ['one less and a switch', [A, B], [quietA], null],
  ['another URL', [A], [B], null],
  ['two more', [], [A, B], null],
] as const)('the change of a single webhook: %s', (_, before, after, expected) =>
  expect(singleChange(before, after)).toEqual(expected as never),
)

describe('two changes of one list are merged', () => {
  test.each([
    ['both are kept', [A], [A, B], [quietA], [quietA, B]],
    ['a webhook that I removed is gone', [A, B], [B], [A, B], [B]],
    ['a webhook that they removed is gone', [A, B], [A, B], [B], [B]],
    ['one that I removed and they changed stays', [A, B], [B], [quietA, B], [quietA, B]],
    ['one that they removed and I changed stays', [A, B], [quietA, B], [B], [B, quietA]],
    [
      'switches of both hold',
      [A],
      [hook(A.url, { call_saved: false })],
      [quietA],
      [hook(A.url, { call_saved: false, dial_started: false })],
    ],
    ['added by both is there once', [], [A], [A], [A]],
  ] as const)('%s', (_, base, mine, theirs, expected) =>
    expect(mergeWebhooks(base, mine, theirs)).toEqual([...expected]),
  )
})

describe('the draft', () => {
  test('keeps a removed row in sight, and sends the list without it', () => {
    const draft = markRemoved(newDraft([A, B], '"1"'), 0, true)
    expect(draft.rows.map((row) => row.removed)).toEqual([true, false])
    expect(draftWebhooks(draft)).toEqual([B])
  })

  test('assigns an error to the row that was sent at its place', () => {
    const added = addRow(markRemoved(newDraft([A, B], '"1"'), 0, true))
    const draft = editRow(added, 2, { url: 'nope' })
    const { rows, other } = errorsByRow(draft, [
      { path: '/1/url', message: 'must be a URL' },
      { path: '', message: 'is too long' },
    ])
    expect([...rows]).toEqual([[2, 'must be a URL']])
    expect(other).toEqual(['is too long'])
  })

  test('on a newer base has the changes that still differ from it', () => {
    const draft = rebaseDraft([A], [A, B], '"2"')
    expect(draft.rows.map((row) => [row.webhook.url, row.removed])).toEqual([
      [A.url, false],
      [B.url, true],
    ])
    expect(urls(draftWebhooks(draft))).toEqual([A.url])
  })

  test('counts a URL that is listed twice, and none that is removed or empty', () => {
    const draft = addRow(addRow(newDraft([A, quietA, B], '"1"')))
    expect([A.url, B.url, ''].map((url) => countUrl(draft, url))).toEqual([2, 1, 0])
    expect(countUrl(markRemoved(draft, 0, true), A.url)).toBe(1)
  })
})
