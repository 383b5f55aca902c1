import { expect, test } from 'bun:test'
import { parsePbxUrl } from '../../../src/pbx/source/pbx-url.ts'
import { pbxStatusOf } from '../../../src/pbx/watch/pbx-status.ts'

/** Returns the source of a PBX of the account `own` (1) or `other` (2). */
function sourceOf(url: string) {
  const parsed = parsePbxUrl(`ami://user:secret@192.0.2.1?${url}`)
  if ('wrong' in parsed) throw new Error(`the URL ${parsed.wrong}`)
  return parsed.pbx
}

const state = { state: 'up', since: null, error: null } as const
const info = { ...state, kind: 'asterisk', address: '192.0.2.1:5038', events_per_second: 0, calls: 0 } as const

test('calls are made on the PBXs of the account whose URL allows it, and on no other', async () => {
  const statusOf = pbxStatusOf({
    watch: { endpoints: async () => new Map() },
    service: {
      // An account still sees a PBX that is another one's now, for the calls that it had there.
      listOf: async () =>
        ['calling', 'silent', 'former', 'shared'].map((name) => ({ ...info, name, calls_not_followed: 0 })),
    },
    list: {
      accounts: { get: (name) => (name === 'own' ? 1 : 2), spellingOf: (name) => name },
      sources: () => [
        sourceOf('name=calling&account=own&calls=caller:secret'),
        sourceOf('name=silent&account=own'),
        sourceOf('name=former&account=other&calls=caller:secret'),
        sourceOf('name=shared&tenants=context&calls=caller:secret'),
      ],
    },
  })
  expect((await statusOf(1)).map(({ name, calls }) => [name, calls])).toEqual([
    ['calling', true],
    ['silent', false],
    ['former', false],
    ['shared', true],
  ])
})
