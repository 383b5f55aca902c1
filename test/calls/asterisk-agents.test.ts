import { expect, test } from 'bun:test'
import { asteriskScene } from '../help/asterisk-scene.ts'
import { differences } from '../help/expected-compare.ts'

// Agents of app_agent_pool: they wait on the line, and serve one caller after the other.

type Scene = ReturnType<typeof asteriskScene>

const POOL = { BridgeCreator: 'AgentPool', BridgeTechnology: 'holding_bridge' }

const application = (pbx: Scene, key: string, Application: string): void =>
  pbx.emit('Newexten', pbx.snapshot(key), { Extension: '1001', Application, AppData: '1001' })

/** A caller asks for the agent and talks with him, until one of them hangs up. */
function serve(pbx: Scene, caller: string, number: string): void {
  pbx.inbound(caller, number, '15550100315')
  application(pbx, caller, 'AgentRequest')
  pbx.enter(caller, `talk ${caller}`)
  pbx.later(300)
  pbx.leave('agent')
  pbx.enter('agent', `talk ${caller}`)
  // Asterisk counts the caller to the older call: the agent's.
  pbx.linked(caller, 'agent')
  pbx.state(caller, 6)
  pbx.later(2_000)
}

test('an agent who waits on the line serves two callers, and a third one hangs up on his own accord', () => {
  const pbx = asteriskScene()
  pbx.call('agent', '104', '7000')
  application(pbx, 'agent', 'AgentLogin')
  pbx.state('agent', 6)
  pbx.enter('agent', 'wait', POOL)
  pbx.later(5_000)
  for (const [caller, number] of [
    ['one', '15551230001'],
    ['two', '15551230002'],
  ] as const) {
    serve(pbx, caller, number)
    pbx.request(caller)
    pbx.leave(caller)
    pbx.leave('agent')
    pbx.hangup(caller)
    pbx.enter('agent', 'wait', POOL)
    pbx.later(1_000)
  }
  serve(pbx, 'three', '15551230003')
  pbx.request('agent')
  pbx.leave('agent')
  pbx.hangup('agent')
  pbx.leave('three')
  pbx.hangup('three')
  const served = (number: string, by: string): string => `full
call_started inbound ${number} 15550100315 | did 15550100315 state ringing
dial_answered user 104 | owner 104 at 0.3 state answered
dial_ended user 104 answered | ring 0 talk 2.0 at 2.3
call_ended answered owner 104 | wait 0.3 talk 2.0 lasts 2.3 answered 104 handled 104 by ${by} cause normal code 16 stages 1
call_saved recordings 0`
  const expected = [
    `call_started internal 104 7000
call_ended cancelled owner -
call_saved recordings 0`,
    served('15551230001', 'caller'),
    served('15551230002', 'caller'),
    served('15551230003', 'callee'),
  ].join('\n\n')
  expect(differences(pbx.over().bodies, expected)).toEqual([])
})
