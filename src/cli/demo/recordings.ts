import type { EventKind } from '../../events/kinds.ts'
import { type PbxRecording, recordingOf } from '../../pbx/pbx.ts'
import ringGroup from './ring-group.ami' with { type: 'text' }
import ringGroupTiming from './ring-group.timing' with { type: 'text' }
import transfer from './transfer.esl' with { type: 'text' }
import transferTiming from './transfer.timing' with { type: 'text' }

/** A recorded session of a real PBX, and the events that its call must produce. */
export type Played = {
  /** The name of the PBX in the demo. */
  readonly pbx: string
  readonly title: string
  readonly recording: PbxRecording
  readonly expected: readonly EventKind[]
}

/** The recordings of the demo. */
export const PLAYED: readonly Played[] = [
  {
    pbx: 'office',
    title: 'Asterisk: a call rings three phones, one of them answers',
    recording: recordingOf('asterisk', Buffer.from(ringGroup), ringGroupTiming),
    expected: [
      'call_started',
      ...(['dial_started', 'dial_started', 'dial_started'] as const),
      'dial_answered',
      ...(['dial_ended', 'dial_ended', 'dial_ended', 'dial_ended'] as const),
      'call_ended',
      'call_saved',
    ],
  },
  {
    pbx: 'branch',
    title: 'FreeSWITCH: a recorded call is transferred',
    recording: recordingOf('freeswitch', Buffer.from(transfer), transferTiming),
    expected: [
      'call_started',
      'dial_started',
      'dial_answered',
      'call_blind_transferred',
      'dial_ended',
      'dial_started',
      'dial_answered',
      'dial_ended',
      'call_ended',
      'call_saved',
    ],
  },
]
