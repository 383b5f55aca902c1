import { expect } from 'bun:test'
import { AmiDecoder } from '../../src/pbx/ami/decoder.ts'
import { isWanted } from '../../src/pbx/ami/events.ts'
import { createAmiTranslator } from '../../src/pbx/ami/translator/translator.ts'
import { player } from './play.ts'
import { checkScene } from './scene.ts'

/** A scene at an Asterisk, as the events it would send; for situations that no recording has. */

type Fields = Readonly<Record<string, string | number>>
type Leg = {
  name: string
  id: string
  linked: string
  state: number
  exten: string
  num: string
  display: string
  bridge: string
}

const STATES = ['Down', '', '', 'Dialing', 'Ring', 'Ringing', 'Up']
const START_US = 1_795_213_000_000_000

export function asteriskScene(options: { variables?: string[] } = {}) {
  const variables = options.variables ?? []
  const decoder = new AmiDecoder({ skip: (name, peek) => !isWanted(name, peek, variables) })
  const signals = createAmiTranslator({ trunks: [], extensions: [], variables })
  const played = player()
  const legs = new Map<string, Leg>()
  let atMs = 0
  let count = 0
  let bridges = 0

  played.play([{ kind: 'connected', first: true, boot: 'one', atUs: START_US, arrivedUs: START_US }])

  const leg = (key: string): Leg => {
    const found = legs.get(key)
    if (found === undefined) throw new Error(`no channel ${key}`)
    return found
  }
  const snapshot = (key: string, prefix = ''): Fields => {
    const { name, id, linked, state, exten, num, display } = leg(key)
    const fields = {
      Channel: name,
      ChannelState: state,
      ChannelStateDesc: STATES[state] ?? '',
      CallerIDNum: num || '<unknown>',
      CallerIDName: display || '<unknown>',
      ConnectedLineNum: '<unknown>',
      ConnectedLineName: '<unknown>',
      Language: 'en',
      AccountCode: '',
      Context: 'any',
      Exten: exten,
      Priority: 1,
      Uniqueid: id,
      Linkedid: linked,
    }
    return Object.fromEntries(Object.entries(fields).map(([name, value]) => [prefix + name, value]))
  }
  function emit(event: string, ...fields: Fields[]): void {
    const lines = Object.entries(Object.assign({}, ...fields)).map(([key, value]) => `${key}: ${value}\r\n`)
    const bytes = Buffer.from(`Event: ${event}\r\nPrivilege: call,all\r\n${lines.join('')}\r\n`)
    for (const frame of decoder.push(bytes)) played.play(signals.event(frame, START_US + atMs * 1_000))
  }

  const scene = {
    emit,
    snapshot,
    id: (key: string): string => leg(key).id,
    /** Advances the time. */
    later(ms: number): void {
      atMs += ms
    },
    /** A channel is made; `linked` names the channel whose call it belongs to. */
    channel(
      key: string,
      name: string,
      of: { linked?: string; ringsUs?: boolean; exten?: string; num?: string; display?: string } = {},
    ): void {
      const id = `1795213000.${++count}`
      legs.set(key, {
        name: name.includes(';') ? name : `${name}-${String(count).padStart(8, '0')}`,
        id,
        linked: of.linked === undefined ? id : leg(of.linked).linked,
        state: of.ringsUs === true ? 4 : 0,
        exten: of.exten ?? 's',
        num: of.num ?? '',
        display: of.display ?? '',
        bridge: '',
      })
      emit('Newchannel', snapshot(key))
    },
    /** A call comes in by the trunk. */
    inbound(key: string, from: string, did: string): void {
      scene.channel(key, 'PJSIP/trunk', { ringsUs: true, exten: did, num: from })
    },
    /** A phone calls. */
    call(key: string, extension: string, dialled: string): void {
      scene.channel(key, `PJSIP/${extension}`, { ringsUs: true, exten: dialled, num: extension })
    },
    /** Two halves of a Local channel. */
    local(one: string, two: string, exten: string, linked?: string): void {
      const name = `Local/${exten}@any-${++count}`
      scene.channel(one, `${name};1`, { exten, ...(linked === undefined ? {} : { linked }) })
      scene.channel(two, `${name};2`, { exten, linked: one, ringsUs: true })
      emit('LocalBridge', snapshot(one, 'LocalOne'), snapshot(two, 'LocalTwo'), {
        Exten: exten,
        LocalOptimization: 'Yes',
      })
    },
    state(key: string, state: 4 | 5 | 6): void {
      leg(key).state = state
      emit('Newstate', snapshot(key))
    },
    exten(key: string, exten: string): void {
      leg(key).exten = exten
    },
    linked(key: string, to: string): void {
      leg(key).linked = leg(to).linked
    },
    dialBegin(source: string | null, dest: string, dialString: string): void {
      emit('DialBegin', source === null ? {} : snapshot(source), snapshot(dest, 'Dest'), { DialString: dialString })
    },
    dialEnd(source: string | null, dest: string, status: string, extra: Fields = {}): void {
      emit('DialEnd', source === null ? {} : snapshot(source), snapshot(dest, 'Dest'), extra, { DialStatus: status })
    },
    ringing(source: string | null, dest: string): void {
      scene.state(dest, 5)
      emit('DialState', source === null ? {} : snapshot(source), snapshot(dest, 'Dest'), { DialStatus: 'RINGING' })
    },
    /** A phone is rung for a channel. */
    ring(source: string, dest: string, extension: string, dialString = extension): void {
      scene.channel(dest, `PJSIP/${extension}`, { linked: source, num: extension })
      scene.dialBegin(source, dest, dialString)
      scene.ringing(source, dest)
    },
    /** An outside number is dialled. */
    ringOutside(source: string, dest: string, number: string): void {
      scene.channel(dest, 'PJSIP/trunk', { linked: source, num: `9${number}` })
      scene.dialBegin(source, dest, `${number}@trunk`)
      emit('DialState', snapshot(source), snapshot(dest, 'Dest'), { DialStatus: 'PROGRESS' })
    },
    enter(key: string, bridge: string, extra: Fields = {}): void {
      leg(key).bridge = bridge
      emit(
        'BridgeEnter',
        snapshot(key),
        { BridgeUniqueid: bridge, BridgeType: 'basic', BridgeCreator: '<unknown>' },
        extra,
      )
    },
    leave(key: string): void {
      const { bridge } = leg(key)
      if (bridge === '') return
      leg(key).bridge = ''
      emit('BridgeLeave', snapshot(key), { BridgeUniqueid: bridge })
    },
    /** The phone answers, and both talk. @returns the bridge. */
    answer(source: string, dest: string): string {
      scene.state(dest, 6)
      scene.dialEnd(source, dest, 'ANSWER')
      if (leg(source).state !== 6) scene.state(source, 6)
      const bridge = `bridge-${++bridges}`
      scene.enter(dest, bridge)
      scene.enter(source, bridge)
      return bridge
    },
    blindTransfer(transferer: string, transferee: string, to: string, isExternal = 'No'): void {
      emit('BlindTransfer', snapshot(transferer, 'Transferer'), snapshot(transferee, 'Transferee'), {
        Result: 'Success',
        IsExternal: isExternal,
        Context: 'any',
        Extension: to,
      })
    },
    attendedTransfer(orig: string, second: string, transferee: string, extra: Fields): void {
      emit(
        'AttendedTransfer',
        { Result: 'Success' },
        snapshot(orig, 'OrigTransferer'),
        snapshot(second, 'SecondTransferer'),
        snapshot(transferee, 'Transferee'),
        extra,
      )
    },
    /** The far end of this channel hangs up. */
    request(key: string): void {
      emit('HangupRequest', snapshot(key), { Cause: 16 })
    },
    hangup(key: string, cause = 16): void {
      scene.leave(key)
      emit('Hangup', snapshot(key), { Cause: cause, 'Cause-txt': 'any' })
    },
    /** The party hangs up, and the others with it. */
    end(key: string, ...others: string[]): void {
      scene.request(key)
      for (const one of [key, ...others]) scene.hangup(one)
    },
    /** Time passes, and all that was emitted is returned. */
    over() {
      played.rest(10_000_000)
      return { bodies: played.events.map(({ body }) => body), state: played.state }
    },
  }
  return scene
}

export type AsteriskScene = ReturnType<typeof asteriskScene>

/** An outside party calls phone 101, which answers; both have talked for three seconds. */
export function talk(pbx: AsteriskScene): void {
  pbx.inbound('caller', '15551230001', '15550100101')
  pbx.ring('caller', 'a', '101')
  pbx.later(2_000)
  pbx.answer('caller', 'a')
  pbx.later(3_000)
}
/** The events of `talk`. */
export const TALK = `call_started inbound 15551230001 15550100101
dial_started user 101
dial_answered user 101`

/** Plays a scene and checks its events, none of which shows a virtual channel. */
export function checkAsteriskScene(
  play: (pbx: AsteriskScene) => void,
  expectedText: string,
  exceptions: readonly string[],
): void {
  const pbx = asteriskScene()
  play(pbx)
  const played = pbx.over()
  checkScene(played, expectedText, exceptions)
  expect(JSON.stringify(played.bodies)).not.toContain('Local/')
}
