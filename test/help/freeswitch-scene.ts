import { newTracker } from '../../src/calls/tracker/tracker.ts'
import { ANSWER, answerEvent } from '../../src/pbx/esl/answers.ts'
import type { EslFrame } from '../../src/pbx/esl/decoder.ts'
import { createEslTranslator } from '../../src/pbx/esl/translator/translator.ts'
import type { TenantRule } from '../../src/pbx/source/pbx-url.ts'
import { countingIds, player } from './play.ts'
import type { TimedFrame } from './reorder.ts'

/** A scene at a FreeSWITCH, as the events it would send; for situations that no recording has. */

type Fields = Readonly<Record<string, string>>
type Leg = {
  direction: 'inbound' | 'outbound'
  fixed: Fields
  answeredUs: number
  bridgedUs: number
  variables: Record<string, string>
}

const START_US = 1_795_213_000_000_000

type Arrange = (frames: readonly TimedFrame[]) => readonly TimedFrame[]

/**
 * Plays a scene of a FreeSWITCH. With `tenants`, every tenant value is the name of an account. With `arrange`, the
 * events are played only after the scene, in the order and at the times that it gives them.
 */
export function freeswitchScene(tenants?: TenantRule, arrange?: Arrange) {
  const signals = createEslTranslator({ trunks: [], extensions: [], variables: [], ...(tenants && { tenants }) })
  const shared = { accountOf: (value: string) => value, isOnEveryChannel: false }
  const state = { ...newTracker('pbx', 'default', countingIds()), tenants: tenants === undefined ? null : shared }
  const played = player({ state })
  const legs = new Map<string, Leg>()
  const kept: TimedFrame[] = []
  let atMs = 0
  let sequence = 0

  played.play([{ kind: 'connected', first: true, boot: 'one', atUs: START_US, arrivedUs: START_US }])

  const leg = (id: string): Leg => {
    const found = legs.get(id)
    if (found === undefined) throw new Error(`no leg ${id}`)
    return found
  }
  function emit(name: string, id: string, extra: Fields = {}): void {
    const { direction, fixed, answeredUs, bridgedUs, variables } = leg(id)
    const nowUs = START_US + atMs * 1_000
    const fields: Fields = {
      'Event-Name': name,
      'Event-Date-Timestamp': String(nowUs),
      'Event-Sequence': String(++sequence),
      'Unique-ID': id,
      'Call-Direction': direction,
      'Caller-Channel-Answered-Time': String(answeredUs),
      'Caller-Channel-Bridged-Time': String(bridgedUs),
      ...fixed,
      ...Object.fromEntries(Object.entries(variables).map(([key, value]) => [`variable_${key}`, value])),
      ...extra,
    }
    const event = {
      name,
      subclass: fields['Event-Subclass'] ?? '',
      body: '',
      get: (key: string) => fields[key] ?? '',
      has: (key: string) => key in fields,
      all: (key: string) => fields[key]?.split('|:') ?? [],
      entries: () => Object.entries(fields),
    }
    const frame: EslFrame = { offset: 0, contentType: 'text/event-plain', get: () => '', body: '', event }
    if (arrange === undefined) play({ frame, atUs: nowUs })
    else kept.push({ frame, atUs: nowUs })
  }
  function play({ frame, atUs }: TimedFrame): void {
    played.play(signals.release?.(atUs) ?? [])
    played.play(signals.event(frame, atUs))
  }

  const scene = {
    emit,
    /** The PBX's answer to a question. */
    answers(fields: Fields): void {
      const nowUs = START_US + atMs * 1_000
      played.play(signals.event(answerEvent(ANSWER, fields), nowUs))
    },
    /** Names of the stages so far, by their targets. */
    names: (): Record<string, string | null> =>
      Object.fromEntries(
        played.events.flatMap(({ body: { data } }) =>
          'stage' in data && data.stage !== null ? [[data.stage.target ?? '-', data.stage.name]] : [],
        ),
      ),
    later(ms: number): void {
      atMs += ms
    },
    /** A leg is at another extension of the dialplan, as its later events show. */
    move(id: string, dialled: string): void {
      leg(id).fixed = { ...leg(id).fixed, 'Caller-Destination-Number': dialled }
    },
    /** Sets variables that later events of a leg show. */
    set(id: string, variables: Record<string, string>): void {
      Object.assign(leg(id).variables, variables)
    },
    create(id: string, direction: Leg['direction'], fixed: Fields, variables: Record<string, string> = {}): void {
      legs.set(id, { direction, fixed, answeredUs: 0, bridgedUs: 0, variables })
      emit('CHANNEL_CREATE', id)
    },
    /** A leg whose creation is reported after other things of it. */
    unknown(id: string): void {
      legs.set(id, { direction: 'outbound', fixed: {}, answeredUs: 0, bridgedUs: 0, variables: {} })
    },
    inbound(id: string, from: string, did: string, extra: Record<string, string> = {}): void {
      scene.create(
        id,
        'inbound',
        {
          'Channel-Name': `sofia/external/${from}@trunk`,
          'Caller-Caller-ID-Number': from,
          'Caller-Destination-Number': did,
        },
        { sofia_profile_name: 'external', ...extra },
      )
    },
    call(id: string, user: string, dialled: string, extra: Record<string, string> = {}, shown: Fields = {}): void {
      scene.create(
        id,
        'inbound',
        {
          'Channel-Name': `sofia/internal/${user}@pbx`,
          'Caller-Caller-ID-Number': user,
          'Caller-Destination-Number': dialled,
          ...shown,
        },
        { sofia_profile_name: 'internal', user_name: user, ...extra },
      )
    },
    /** A user is dialled; `source` null: originated. */
    dial(
      source: string | null,
      id: string,
      user: string,
      extra: Record<string, string> = {},
      shown: Fields = {},
    ): void {
      const other =
        source === null || extra.ent_originate_aleg_uuid
          ? {}
          : {
              'Other-Type': 'originator',
              'Other-Leg-Unique-ID': source,
              'Other-Leg-Destination-Number': extra.where ?? '',
            }
      scene.create(
        id,
        'outbound',
        { 'Channel-Name': `sofia/internal/${user}@pbx`, 'Caller-Destination-Number': user, ...other, ...shown },
        { dialed_user: user, sofia_profile_name: 'internal', ...extra },
      )
      emit('CHANNEL_PROGRESS', id)
    },
    /** A number is dialled through a gateway; `source` null: originated. */
    dialOutside(source: string | null, id: string, number: string, shown: Fields = {}): void {
      const other = source === null ? {} : { 'Other-Type': 'originator', 'Other-Leg-Unique-ID': source }
      scene.create(
        id,
        'outbound',
        { 'Channel-Name': `sofia/external/${number}`, 'Caller-Destination-Number': number, ...other, ...shown },
        { sip_gateway_name: 'trunk', sofia_profile_name: 'external' },
      )
      emit('CHANNEL_PROGRESS', id)
    },
    answer(id: string): void {
      leg(id).answeredUs = START_US + atMs * 1_000
      emit('CHANNEL_ANSWER', id)
    },
    bridge(a: string, b: string): void {
      for (const id of [a, b]) leg(id).bridgedUs = START_US + atMs * 1_000
      emit('CHANNEL_BRIDGE', a, { 'Bridge-A-Unique-ID': a, 'Bridge-B-Unique-ID': b, 'Other-Leg-Unique-ID': b })
    },
    unbridge(a: string, b: string, of = a): void {
      emit('CHANNEL_UNBRIDGE', of, { 'Bridge-A-Unique-ID': a, 'Bridge-B-Unique-ID': b })
    },
    hangup(id: string, cause = 'NORMAL_CLEARING'): void {
      emit('CHANNEL_HANGUP', id, { 'Hangup-Cause': cause })
      emit('CHANNEL_HANGUP_COMPLETE', id, { 'Hangup-Cause': cause })
      emit('CHANNEL_DESTROY', id, { 'Hangup-Cause': cause })
    },
    /** The party hangs up, and the PBX the others. */
    end(id: string, ...others: string[]): void {
      scene.set(id, { sip_hangup_disposition: 'recv_bye' })
      for (const one of [id, ...others]) scene.hangup(one)
    },
    over() {
      for (const one of arrange?.(kept) ?? []) play(one)
      played.play(signals.release?.(played.nowUs + 2_000_000) ?? [])
      played.rest(10_000_000)
      return { bodies: played.events.map(({ body }) => body), state: played.state }
    },
  }
  return scene
}
