import type { Call, Party } from '../../../src/events/bodies.ts'
import type { Body, Rule, Story } from './story.ts'
import { stageText } from './story.ts'

/** Rules about results, hang-ups, owners and whom a call missed. */

type Causes = Readonly<Record<NonNullable<Call['result']>, readonly NonNullable<Call['hangup']>['cause'][]>>

/** Why calls with a result may have ended, besides `pbx_restart`, `unknown` and `other`. */
const CAUSES: Causes = {
  answered: ['normal', 'congestion', 'unavailable'],
  no_answer: ['no_answer', 'rejected', 'normal'],
  busy: ['busy'],
  cancelled: ['cancelled'],
  failed: ['unavailable', 'congestion', 'invalid_number', 'rejected', 'normal', 'busy'],
  voicemail: ['normal'],
}
const ANY_CAUSE: readonly string[] = ['pbx_restart', 'unknown', 'other']

const partyText = ({ extension, number }: Party): string => extension ?? number ?? '-'
const isSame = (one: Party, other: Party): boolean => one.extension === other.extension && one.number === other.number

const each =
  (check: (call: Call, story: Story, body: Body) => readonly (string | false)[]) =>
  (story: Story): string[] =>
    story.bodies.flatMap((body) =>
      check(body.data.call, story, body).flatMap((wrong) => (wrong === false ? [] : [`${body.data.name}: ${wrong}`])),
    )

export const RESULTS: readonly Rule[] = [
  {
    name: 'result and answer of a call',
    sentence:
      '`result` is `answered` if `answered_at` is known, and `answered_at` is unknown only where it was not seen',
    check: each((call) => [
      call.result !== null &&
        call.result !== 'answered' &&
        call.answered_at !== null &&
        `${call.result}, with an answered_at`,
      call.result === 'answered' &&
        call.answered_at === null &&
        !call.partial &&
        // It is answered in the call that it was merged into.
        call.merged_into === null &&
        'answered, at no time',
      call.answered_by !== null && call.answered_at === null && !call.partial && 'answered by someone, at no time',
      call.result !== null && call.result !== 'answered' && call.answered_by !== null && `${call.result}, by someone`,
    ]),
  },
  {
    name: 'result and answer of a stage',
    sentence: 'a stage whose `result` is `answered` has an `answered_at`; no other has one',
    check: ({ stages, isPartial }) =>
      stages.flatMap(({ last }) => {
        if (last.result === null) return []
        if (last.result !== 'answered' && last.answered_at !== null)
          return [`${stageText(last)}: ${last.result}, with an answered_at`]
        return last.result === 'answered' && last.answered_at === null && !isPartial
          ? [`${stageText(last)}: answered, at no time`]
          : []
      }),
  },
  {
    name: 'state of a call',
    sentence: '`ringing`: nobody yet; `waiting`: in a queue or IVR; `answered`; `ended`',
    check: each((call) => [
      (call.state === 'ended') !== (call.ended_at !== null) && `${call.state}, and ended at ${call.ended_at}`,
      (call.state === 'ended') !== (call.hangup !== null) && `${call.state}, and its hangup is ${call.hangup?.cause}`,
      (call.state === 'ringing' || call.state === 'waiting') &&
        call.answered_at !== null &&
        `${call.state}, and answered at ${call.answered_at}`,
      call.state === 'answered' && call.answered_at === null && !call.partial && 'answered, at no time',
    ]),
  },
  {
    name: 'hang-up and result',
    sentence: '`hangup` fits `result`: a busy call is `busy`, and a call that its caller gave up ends by the caller',
    check: each(({ result, hangup }) => [
      result !== null &&
        hangup !== null &&
        !CAUSES[result].includes(hangup.cause) &&
        !ANY_CAUSE.includes(hangup.cause) &&
        `${result}, because of ${hangup.cause}`,
      result === 'cancelled' && hangup?.by !== 'caller' && `cancelled by ${hangup?.by}`,
    ]),
  },
  {
    name: 'an end that was not seen',
    sentence: 'of an unseen end `by` is `unknown`, its cause `unknown` or `pbx_restart`, and the call is `partial`',
    check: each(({ hangup, partial }) => [
      (hangup?.cause === 'unknown' || hangup?.cause === 'pbx_restart') &&
        !partial &&
        `${hangup.cause}, and not partial`,
      hangup?.cause === 'unknown' && hangup.by !== 'unknown' && `unknown, by ${hangup.by}`,
    ]),
  },
  {
    name: 'nobody handles a call twice in a row',
    sentence: '`handled_by`: parties that handled the call, in order',
    check: each(({ handled_by: by }) => [
      by.some((party, index) => isSame(party, by[index + 1] ?? NOBODY)) && `handled by ${by.map(partyText)}`,
    ]),
  },
  {
    name: 'an outside party handles alone',
    sentence: "the PBX's own extensions that talked; if none did, the outside party that answered",
    check: each(({ handled_by: by }) => [
      by.length > 1 && by.some(({ extension }) => extension === null) && `handled by ${by.map(partyText)}`,
    ]),
  },
  {
    name: 'who handled a call stays',
    sentence: '`handled_by` grows; only an outside party gives way to an extension',
    check({ bodies }) {
      let before: readonly Party[] = []
      let merged = 0
      return bodies.flatMap(({ data: { name, call } }) => {
        // Whoever handled a call that is merged handled this one as well.
        if (call.merged_from.length > merged) before = []
        merged = call.merged_from.length
        const lost = before.some(
          (party, index) => party.extension !== null && !isSame(party, call.handled_by[index] ?? NOBODY),
        )
        const wrong = lost
          ? [`${name}: handled by ${call.handled_by.map(partyText)} after ${before.map(partyText)}`]
          : []
        before = call.handled_by
        return wrong
      })
    },
  },
  {
    name: 'who answered handles',
    sentence: 'of an inbound or internal call the extension that answered first is one that handled it',
    check: each(({ direction, answered_by: by, handled_by: handled, state }) => [
      state === 'ended' &&
        direction !== 'outbound' &&
        by?.extension != null &&
        !handled.some(({ extension }) => extension === by.extension) &&
        `answered by ${partyText(by)}, handled by ${handled.map(partyText)}`,
    ]),
  },
  {
    name: 'missed',
    sentence:
      'a missed call is inbound or internal, nobody answered it, and `missed_by` has extensions that it dialled, each once, in the order of their first dial',
    check: ({ ended }) => (ended === undefined ? [] : missed(ended.call, ended)),
  },
  {
    name: 'forwarded',
    sentence: 'a stage with `forwarded_to` is one whose result is `forwarded`, and the other way round',
    check: ({ stages }) =>
      stages.flatMap(({ last }) =>
        (last.forwarded_to !== null) === (last.result === 'forwarded')
          ? []
          : [`${stageText(last)}: ${last.result} to ${last.forwarded_to}`],
      ),
  },
  {
    name: 'results of queues',
    sentence: '`abandoned` and `timeout` are results of a queue',
    check: ({ stages }) =>
      stages.flatMap(({ last }) =>
        (last.result === 'abandoned' || last.result === 'timeout') && last.kind !== 'queue'
          ? [`${stageText(last)}: ${last.result}`]
          : [],
      ),
  },
  {
    name: 'answered elsewhere',
    sentence: 'a stage is `answered_elsewhere` only if somebody answered the call',
    check: ({ ended, stages }) =>
      ended !== undefined && ended.call.answered_at === null && !ended.call.partial
        ? stages
            .filter(({ last }) => last.result === 'answered_elsewhere')
            .map(({ last }) => `${stageText(last)}: answered elsewhere, by nobody`)
        : [],
  },
  {
    name: 'recorded',
    sentence: '`recorded` is true once a recording has started: each call with recordings is recorded',
    check: ({ saved }) =>
      saved !== undefined && saved.recordings.length > 0 !== saved.call.recorded
        ? [`recorded ${saved.call.recorded}, with ${saved.recordings.length} recordings`]
        : [],
  },
]

const NOBODY: Party = { number: '', name: null, extension: '', e164: null, contact: null }

function missed(call: Call, { stages }: Extract<Body['data'], { name: 'call_ended' }>): string[] {
  const { missed: isMissed, missed_by: by } = call
  if (isMissed !== true) return by.length > 0 ? ['missed by some, and not missed'] : []
  const extensions = by.map(({ extension }) => extension)
  const dialled = [...new Set(stages.flatMap(({ kind, target }) => (kind === 'user' ? [target] : [])))]
  const inOrder = dialled.filter((one) => extensions.includes(one))
  if (call.direction === 'outbound') return ['an outbound call that was missed']
  if (call.answered_at !== null) return ['missed, and answered']
  return call.stages_omitted > 0 || inOrder.join() === extensions.join()
    ? []
    : [`missed by ${extensions}, and it dialled ${dialled}`]
}
