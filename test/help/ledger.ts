import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { TrackerState } from '../../src/calls/tracker/state/state.ts'
import { BODIES, type Call, type CallEvent, type Stage } from '../../src/events/bodies.ts'
import { type EventKind, isOnlyOnRequest } from '../../src/events/kinds.ts'
import { brokenRules } from './call-rules/rules.ts'

/** Checks the promises about every call, whatever the PBX. Throws a sentence at the first broken promise. */
type Ledger = {
  take(events: readonly CallEvent[]): void
  /** The PBX reported that nothing is up, and time has passed: every call must be over. */
  finish(): void
}

type CallAccount = {
  sequence: number
  /** The time and id of its last event. */
  time: string
  id: string
  /** The direction in the first event. */
  direction: string | null
  /** It turned out to have another direction. */
  turned: boolean
  ended: boolean
  saved: boolean
  /** An attended transfer named it as the call that ends inside another: nothing follows. */
  transferred: boolean
  /** A group of it ended before the member who answered: that one must go on in another call, at once. */
  mustMerge: boolean
  /** It was missed: call_missed must come next. */
  mustMiss: boolean
}
type StageAccount = {
  kind: string
  parentId: string | null
  attempt: number
  started: boolean
  answered: boolean
  ended: boolean
}

const NEW_CALL: CallAccount = {
  sequence: 0,
  time: '',
  id: '',
  direction: null,
  turned: false,
  ended: false,
  saved: false,
  transferred: false,
  mustMerge: false,
  mustMiss: false,
}

const checks = new Map(Object.entries(BODIES).map(([name, schema]) => [name, TypeCompiler.Compile(schema)] as const))

/** Why a body does not fit its schema, `undefined` if it does. */
export function misfit(name: EventKind, body: unknown): string | undefined {
  const check = checks.get(name)
  if (check === undefined) return `there is no schema for ${name}`
  if (check.Check(body)) return undefined
  const error = check.Errors(body).First()
  return `${error?.path}: ${error?.message} (${JSON.stringify(error?.value)})`
}

/** Creates a ledger; `exceptions` names rules that do not hold for what is played. */
export function createLedger(exceptions: readonly string[] = []): Ledger {
  const bodies: CallEvent['body'][] = []
  const calls = new Map<string, CallAccount>()
  const stages = new Map<string, StageAccount>()

  function stageEvent(call: CallAccount, name: EventKind, stage: Stage): string | undefined {
    const { kind, parent_id: parentId } = stage
    const known = stages.get(stage.id)
    // Its queue or group rings it again.
    const isAgain = known?.ended === true && !known.answered && stage.attempt > known.attempt
    const fresh = { kind, parentId, attempt: stage.attempt, started: false, answered: false, ended: false }
    const account = known === undefined || isAgain ? fresh : known
    account.parentId = parentId
    stages.set(stage.id, account)
    if (account.ended) return `${name} of a stage that has ended`
    if (parentId !== null && stages.get(parentId)?.ended === true)
      return `${name} of a member whose group or queue has ended`
    if (stage.attempt < 1) return 'an attempt below 1'
    switch (name) {
      case 'dial_started':
        if (account.started || account.answered) return 'dial_started twice, or after its answer'
        account.started = true
        break
      case 'dial_answered':
        if (account.answered) return 'dial_answered twice'
        account.answered = true
        break
      case 'dial_ended':
        account.ended = true
        if (stage.result === null) return 'dial_ended without a result'
        if (stage.kind !== 'group' && stage.kind !== 'queue' && account.answered !== (stage.result === 'answered'))
          return `dial_ended ${stage.result}, but ${account.answered ? '' : 'not '}answered`
        break
    }
    if (kind !== 'group' && kind !== 'queue') return undefined
    if (account.started || account.answered) return `${name} of a ${kind}`
    for (const other of stages.values()) {
      if (other.parentId !== stage.id || other.ended) continue
      if (kind !== 'group' || !other.answered) return `a ${kind} ended before its members`
      // The answering party continues at once in the call that a transfer merges this one into.
      call.mustMerge = true
      other.parentId = null
    }
    return undefined
  }

  function members(all: readonly Stage[]): string | undefined {
    for (const stage of all) {
      const account = stages.get(stage.id)
      if (account?.ended !== true) return `the call ended before its stage ${stage.kind} ${stage.target}`
      if (stage.result === null) return `the call ended with an open stage ${stage.kind} ${stage.target}`
      if (stage.parent_id !== null && !all.some((one) => one.id === stage.parent_id) && !stages.has(stage.parent_id))
        return 'a stage has a parent that nobody has heard of'
    }
    return undefined
  }

  /** Nobody has answered a missed call; a missed internal call has rung somebody. */
  function missed({ call, stages: all }: { call: Call; stages: readonly Stage[] }): string | undefined {
    if (call.answered_at !== null || call.handled_by.length > 0) return 'a missed call that somebody answered'
    const isTried = call.stages_omitted > 0 || all.some(({ kind }) => kind === 'user' || kind === 'external')
    return call.direction === 'internal' && !isTried ? 'a missed internal call that tried nobody' : undefined
  }

  function callEvent(event: CallEvent): string | undefined {
    const { data } = event.body
    const isFirst = !calls.has(event.callId)
    const account = calls.get(event.callId) ?? { ...NEW_CALL }
    calls.set(event.callId, account)
    if (isFirst !== (event.name === 'call_started'))
      return `${event.name} as ${isFirst ? 'the first' : 'a later'} event`
    const sequence = isOnlyOnRequest(event.name) ? account.sequence : account.sequence + 1
    if (event.sequence !== sequence || data.sequence !== event.sequence)
      return `sequence ${event.sequence} after ${account.sequence}`
    account.sequence = event.sequence
    const { time } = event.body
    if (time < account.time) return `the time ${time} after ${account.time}`
    if (event.id <= account.id) return `the id ${event.id} after ${account.id}`
    Object.assign(account, { time, id: event.id })
    account.direction ??= data.call.direction
    if (data.call.direction !== account.direction) {
      // The direction of an originated call is known only when it dials.
      if (account.turned || account.direction === 'inbound' || data.call.direction === 'inbound')
        return `a direction that turned from ${account.direction} to ${data.call.direction}`
      Object.assign(account, { direction: data.call.direction, turned: true })
    }
    if (data.id !== event.id || data.call.id !== event.callId || data.name !== event.name)
      return 'ids that do not match'
    if (account.mustMerge) return 'an event of a call in which a group ended before its members'
    if (account.transferred) return 'an event of a call that was merged by a transfer'
    if (account.saved) return 'an event after call_saved'
    if (account.mustMiss !== (event.name === 'call_missed'))
      return `${event.name} where call_missed is ${account.mustMiss ? '' : 'not '}due`
    account.mustMiss = false
    if (account.ended && event.name !== 'call_saved' && event.name !== 'call_missed')
      return `${event.name} after call_ended`
    if ((data.call.state === 'ended') !== (account.ended || event.name === 'call_ended'))
      return 'a state that is not so'
    const isLive = data.call.state !== 'ended'
    if (isLive && (data.call.ended_at !== null || data.call.duration !== null || data.call.talk_duration !== null))
      return 'the end of a call is known before it is emitted'
    if (data.call.missed !== null && (isLive || data.call.direction === 'outbound' || data.call.parent_id !== null))
      return 'missed is known where it cannot be'
    if (data.call.missed === true && data.call.handled_by.some(({ extension }) => extension !== null))
      return 'a call was missed that a party handled'
    if (data.call.missed !== true && data.call.missed_by.length > 0) return 'missed_by of a call that was not missed'
    if ((data.call.result === null) !== (data.call.state !== 'ended'))
      return 'a result before the end, or none after it'
    if (data.call.merged_into === event.callId) return 'a call that was merged into itself'
    if (data.call.merged_into !== null && !account.ended && event.name !== 'call_ended')
      return 'a call that was merged, and goes on'
    if (data.name === 'call_attended_transferred' && data.transfer.other_call_id !== null) {
      const merged = calls.get(data.transfer.other_call_id)
      if (merged === undefined || merged.ended) return 'a transfer that merges a call which is not up'
      merged.transferred = true
    }
    if ('by' in data) return data.by === null ? `${event.name} by nobody` : undefined
    if ('stage' in data) return stageEvent(account, event.name, data.stage)
    if (data.name === 'call_ended') {
      account.ended = true
      account.mustMiss = data.call.missed === true
      const wrong = account.mustMiss ? missed(data) : undefined
      if (wrong !== undefined) return wrong
      // The stages of a merged call continue in the other call.
      return data.call.merged_into === null ? members(data.stages) : undefined
    }
    if (data.name === 'call_saved') {
      if (!account.ended) return 'call_saved before call_ended'
      account.saved = true
    }
    return undefined
  }

  return {
    take(events) {
      for (const event of events) {
        const wrong = misfit(event.name, event.body) ?? callEvent(event)
        if (wrong !== undefined) throw new Error(`${event.name} of call ${event.callId}: ${wrong}`)
        bodies.push(event.body)
      }
    },
    finish() {
      for (const [id, { mustMiss }] of calls)
        if (mustMiss) throw new Error(`call ${id} was missed, and nobody heard of it`)
      for (const [id, { mustMerge, transferred }] of calls)
        if (mustMerge && !transferred) throw new Error(`call ${id}: a group ended before its members`)
      for (const [id, { saved, transferred }] of calls)
        if (!saved && !transferred) throw new Error(`call ${id} never came to its end`)
      for (const [id, stage] of stages) if (!stage.ended) throw new Error(`stage ${id} (${stage.kind}) never ended`)
      const broken = brokenRules(bodies, exceptions)
      if (broken.length > 0) throw new Error(broken.join('\n'))
    },
  }
}

/** Describes the memory that a tracker still uses; `undefined` if it is empty. */
export function leftover(state: TrackerState): string | undefined {
  const {
    calls,
    channels,
    bridges,
    conferences,
    byLinkedId,
    pendingLinks: links,
    earlyEnds: tombstones,
    dirty,
    onHold,
    consultations,
  } = state
  const sizes = {
    calls: calls.size,
    channels: channels.size,
    bridges: bridges.size,
    conferences: conferences.size,
    byLinkedId: byLinkedId.size,
    links: links.length,
    tombstones: tombstones.size,
    dirty: dirty.size,
    onHold: onHold.size,
    consultations: consultations.size,
    wakes: state.timers.earliest() === null ? 0 : 1,
  }
  const left = Object.entries(sizes).filter(([, size]) => size > 0)
  return left.length === 0 ? undefined : left.map(([name, size]) => `${size} ${name}`).join(', ')
}

/** Returns a contradiction in a tracker's memory as a sentence; `undefined` without one. */
export function contradiction(state: TrackerState): string | undefined {
  for (const call of state.calls.values()) {
    for (const id of call.channels) {
      const channel = state.channels.get(id)
      if (channel?.callId !== call.id) return `call ${call.id} counts channel ${id}, which is of ${channel?.callId}`
    }
  }
  for (const channel of state.channels.values()) {
    if (channel.callId !== null && state.calls.get(channel.callId)?.channels.includes(channel.id) !== true)
      return `channel ${channel.id} is of call ${channel.callId}, which does not count it`
    if (channel.bridge !== null && state.bridges.get(channel.bridge)?.includes(channel.id) !== true)
      return `channel ${channel.id} is in bridge ${channel.bridge}, which does not have it`
  }
  for (const [bridge, members] of state.bridges)
    for (const id of members)
      if (state.channels.get(id)?.bridge !== bridge) return `bridge ${bridge} has channel ${id}, which is not in it`
  return undefined
}
