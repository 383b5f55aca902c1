import { expect, test } from 'bun:test'
import { player } from '../../help/play.ts'

const AT_US = 1_795_213_000_000_000

test('a queue has the name that the PBX shows to people, beside its own', () => {
  const played = player()
  const at = { atUs: AT_US, arrivedUs: AT_US }
  const caller = { kind: 'external', number: '15551230001', name: null } as const
  played.play([
    {
      ...at,
      kind: 'channel',
      id: 'A',
      linkedId: 'A',
      endpoint: caller,
      dialledNumber: '15550100107',
      originated: false,
      shown: null,
      tenant: null,
    },
    { ...at, kind: 'queue_joined', id: 'A', queue: '700@acme.example', name: 'Hotline', position: null },
    { ...at, kind: 'queue_left', id: 'A', queue: '700@acme.example', result: 'abandoned', final: true },
    {
      ...at,
      kind: 'hangup',
      id: 'A',
      end: { code: 16, result: 'cancelled', withdrawn: false, mayTransfer: false, forwardedTo: null },
    },
  ])
  played.rest(10_000_000)
  const stages = played.events.flatMap(({ body: { data } }) =>
    'stage' in data && data.stage !== null ? [data.stage] : [],
  )
  expect(stages.map(({ kind, target, name }) => [kind, target, name])).toEqual([
    ['queue', '700@acme.example', 'Hotline'],
  ])
})
