import { expect, test } from 'bun:test'
import { isLinkValid, signedPath } from '../../src/recordings/link-signature.ts'

const KEY = 'k'.repeat(43)
const REF = { callId: '0193-call', recordingId: '0193-recording' }
const NOW_S = 1_800_000_000
const EXPIRES_S = NOW_S + 60

const queryOf = (path: string) => Object.fromEntries(new URL(path, 'http://host').searchParams)
const query = queryOf(signedPath(KEY, REF, EXPIRES_S))
const { signature = '' } = query

test('a link is the path of the recording with expiry and signature', () => {
  expect(signedPath(KEY, REF, EXPIRES_S)).toMatch(
    /^\/call\/0193-call\/recording\/0193-recording\?expires=1800000060&signature=[\w-]{43}$/,
  )
})

test.each([
  ['before it expires', KEY, REF, query, NOW_S, true],
  ['in its last second', KEY, REF, query, EXPIRES_S, true],
  ['after it', KEY, REF, query, EXPIRES_S + 1, false],
  ['with another expiry', KEY, REF, { ...query, expires: String(EXPIRES_S + 1) }, NOW_S, false],
  ['with its expiry spelled otherwise', KEY, REF, { ...query, expires: `0${EXPIRES_S}` }, NOW_S, false],
  ['with an expiry that is none', KEY, REF, queryOf(signedPath(KEY, REF, Number.NaN)), NOW_S, false],
  ['with another key', 'l'.repeat(43), REF, query, NOW_S, false],
  ['of another recording', KEY, { ...REF, recordingId: 'other' }, query, NOW_S, false],
  ['of another call', KEY, { ...REF, callId: 'other' }, query, NOW_S, false],
  ['of which a slash was moved', KEY, { callId: '0193-call/recording', recordingId: '' }, query, NOW_S, false],
  ['without a signature', KEY, REF, { expires: query.expires }, NOW_S, false],
  ['without an expiry', KEY, REF, { signature }, NOW_S, false],
  ['with an empty signature', KEY, REF, { ...query, signature: '' }, NOW_S, false],
  ['with a shorter signature', KEY, REF, { ...query, signature: signature.slice(0, -1) }, NOW_S, false],
  ['with a longer signature', KEY, REF, { ...query, signature: `${signature}=` }, NOW_S, false],
  ['with another script', KEY, REF, { ...query, signature: 'é'.repeat(43) }, NOW_S, false],
  ['with half a surrogate pair', KEY, REF, { expires: '\ud800', signature }, NOW_S, false],
])('a link %s', (_, key, ref, given, nowS, expected) => {
  expect(isLinkValid(key, ref, given, nowS)).toBe(expected)
})

test('no other spelling of a signature is taken: the last character has bits that count for nothing', () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const taken = [...alphabet].filter((last) =>
    isLinkValid(KEY, REF, { ...query, signature: signature.slice(0, -1) + last }, NOW_S),
  )
  expect(taken).toEqual([signature.slice(-1)])
})

test('ids are encoded in a path', () => {
  const [path] = signedPath(KEY, { callId: 'a/b', recordingId: '..?c' }, EXPIRES_S).split('?')
  expect(path).toBe('/call/a%2Fb/recording/..%3Fc')
})
