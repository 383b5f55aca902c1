import { expect, test } from 'bun:test'
import { freeswitchScene } from '../help/freeswitch-scene.ts'

// FreeSWITCH names no legs where a phone transfers a call or is in a conference: they are found by numbers, which several customers have.

type Scene = ReturnType<typeof freeswitchScene>

/** A dialplan sets the variable for those who call; the legs that it dials do not have it. */
const RULE = { by: 'variable', variable: 'shop' } as const
const ofShop = (shop: string) => ({ shop })

/** Returns each event of an account, with the id that FreeSWITCH gave the call. */
function eventsOf(pbx: Scene, account: string): string[] {
  const { bodies } = pbx.over()
  return bodies.flatMap(({ data }) => (data.account === account ? `${data.call.pbx_id} ${data.name}` : []))
}

test('a transfer to a phone that still rings is of the customer whose phone it is, though another phone of that number called there', () => {
  const pbx = freeswitchScene(RULE)
  pbx.inbound('A', '79161234567', '74950001001', ofShop('acme'))
  pbx.dial('A', 'B', '1001')
  pbx.answer('B')
  pbx.answer('A')
  pbx.bridge('A', 'B')
  pbx.later(3_000)
  pbx.emit('CHANNEL_HOLD', 'B')
  pbx.call('C', '1001', '1002', ofShop('acme'))
  pbx.dial('C', 'D', '1002')
  pbx.later(1_000)
  pbx.call('X', '1001', '1002', ofShop('beta'))
  pbx.dial('X', 'Y', '1002')
  pbx.later(1_000)
  pbx.emit('CHANNEL_HANGUP', 'C', { 'Hangup-Cause': 'NORMAL_CLEARING' })
  pbx.set('A', {
    att_xfer_destination_number: '1002',
    transfer_source: '1795213000:x:bl_xfer:m:":endless_playback:any":park/default/inline',
  })
  pbx.hangup('B')
  pbx.unbridge('A', 'B')
  pbx.later(3_000)
  pbx.answer('D')
  pbx.bridge('A', 'D')
  pbx.emit('CHANNEL_HANGUP_COMPLETE', 'C', { 'Hangup-Cause': 'NORMAL_CLEARING' })
  pbx.emit('CHANNEL_DESTROY', 'C')
  pbx.later(2_000)
  pbx.end('X', 'Y')
  pbx.end('A', 'D')
  expect(eventsOf(pbx, 'acme').filter((line) => line.includes('transferred') || line.startsWith('C '))).toEqual([
    'C call_started',
    'C dial_started',
    'A call_attended_transferred',
  ])
})

test('a caller that shows no customer is in no conference of one', () => {
  const pbx = freeswitchScene(RULE)
  pbx.call('A', '1001', '3000', ofShop('acme'))
  pbx.answer('A')
  pbx.inbound('B', '79161234567', '3000')
  pbx.answer('B')
  pbx.later(2_000)
  pbx.set('A', { current_application: 'conference' })
  pbx.emit('CHANNEL_EXECUTE', 'A')
  pbx.later(2_000)
  pbx.end('A')
  pbx.end('B')
  const { bodies } = pbx.over()
  expect(bodies.flatMap(({ data }) => (data.name === 'call_saved' ? data.call.result : []))).not.toContain('answered')
})
