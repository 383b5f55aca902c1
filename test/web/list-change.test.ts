import { describe, expect, test } from 'bun:test'
import {
  BLANK_WEBHOOK,
  draftOf,
  faultsByRow,
  listOf,
  rebased,
  withEdit,
  withRemoved,
  withRow,
} from '../../src/web/browser/lib/draft.ts'
import { listChanges, mergeLists } from '../../src/web/browser/lib/list-change.ts'
import type { Webhook } from '../../src/web/browser/lib/resources.ts'

const hook = (url: string, change: Partial<Webhook> = {}): Webhook => ({ ...BLANK_WEBHOOK, url, ...change })
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
] as const)('what changed between two lists: %s', (_, before, after, expected) =>
  expect(listChanges(before, after)).toEqual([...expected] as never),
)

describe('two changes of one list go together', () => {
  test.each([
    ['both are kept', [A], [A, B], [quietA], [quietA, B]],
    ['what I removed is gone', [A, B], [B], [A, B], [B]],
    ['what they removed is gone', [A, B], [A, B], [B], [B]],
    ['what I removed and they changed stays', [A, B], [B], [quietA, B], [quietA, B]],
    ['what they removed and I changed stays', [A, B], [quietA, B], [B], [B, quietA]],
    [
      'switches of both hold',
      [A],
      [hook(A.url, { call_saved: false })],
      [quietA],
      [hook(A.url, { call_saved: false, dial_started: false })],
    ],
    ['added by both is there once', [], [A], [A], [A]],
  ] as const)('%s', (_, base, mine, theirs, expected) => expect(mergeLists(base, mine, theirs)).toEqual([...expected]))
})

describe('the draft', () => {
  test('keeps a removed row in sight, and sends the list without it', () => {
    const draft = withRemoved(draftOf([A, B], '"1"'), 0, true)
    expect(draft.rows.map((row) => row.removed)).toEqual([true, false])
    expect(listOf(draft)).toEqual([B])
  })

  test('ties a fault to the row that was sent at that place', () => {
    const added = withRow(withRemoved(draftOf([A, B], '"1"'), 0, true))
    const draft = withEdit(added, 2, { url: 'nope' })
    const { rows, other } = faultsByRow(draft, [
      { path: '/1/url', message: 'must be a URL' },
      { path: '', message: 'is too long' },
    ])
    expect([...rows]).toEqual([[2, 'must be a URL']])
    expect(other).toEqual(['is too long'])
  })

  test('on a newer base says again what differs from it', () => {
    const draft = rebased([A], [A, B], '"2"')
    expect(draft.rows.map((row) => [row.webhook.url, row.removed])).toEqual([
      [A.url, false],
      [B.url, true],
    ])
    expect(urls(listOf(draft))).toEqual([A.url])
  })
})
