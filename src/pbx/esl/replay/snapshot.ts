import type { PbxRecording, RecordedStep } from '../../recorded/recording.ts'
import { EslDecoder, type EslEvent, type EslFrame } from '../decoder.ts'
import { variableOf } from '../event.ts'
import { APPLICATION_BEGINS } from '../events.ts'
import { type ListRow, listRows } from '../list-rows.ts'

type Row = ListRow & { uuid?: string }

export type EslStep = RecordedStep & { readonly event: EslEvent }

/** A recording's events, and the channels that were up before, according to its lists and events. */
type EslSteps = { steps: EslStep[]; beginMs: number; channels: Row[]; core: string }

/** Reads a recording. */
export function eslSteps(recording: PbxRecording): EslSteps {
  const { bytes, cameMs } = recording
  const frames = new EslDecoder().push(bytes)
  const endOf = (index: number): number => frames[index + 1]?.offset ?? bytes.length
  const steps = frames.flatMap((frame, index): EslStep[] => {
    const { event } = frame
    const isNotice = frame.contentType === 'text/disconnect-notice'
    if (event === undefined && !isNotice) return []
    const end = endOf(index)
    return [
      {
        bytes: bytes.subarray(frame.offset, end),
        atMs: cameMs(end),
        name: event?.name ?? 'notice',
        event: event ?? NOTICE,
      },
    ]
  })
  const lastReply = frames.findLastIndex((frame, index) => frame.contentType === 'command/reply' && index < 8)
  const core = steps.map(({ event }) => event.get('Core-UUID')).find((id) => id !== '') ?? ''
  return { steps, beginMs: cameMs(lastReply < 0 ? 1 : endOf(lastReply)), channels: channelsBefore(frames, steps), core }
}

const NOTICE: EslEvent = {
  name: 'notice',
  subclass: '',
  body: '',
  get: () => '',
  has: () => false,
  all: () => [],
  entries: () => [],
}

function channelsBefore(frames: readonly EslFrame[], steps: readonly EslStep[]): Row[] {
  const made = new Set(steps.filter(({ name }) => name === 'CHANNEL_CREATE').map(({ event }) => event.get('Unique-ID')))
  const met = new Map<string, Row>()
  const answers = frames.filter(({ contentType }) => contentType === 'api/response')
  for (const row of answers.flatMap(({ body }): Row[] => listRows(body))) {
    const id = row.uuid ?? ''
    if (!made.has(id)) met.set(id, { ...met.get(id), ...row })
  }
  if (met.size > 0) return [...met.values()]
  for (const { name, event } of steps) {
    const id = event.get('Unique-ID')
    // A leg for which FreeSWITCH found no gateway is destroyed before it is set up: it is in no list.
    if (name === 'CHANNEL_DESTROY' && event.get('Channel-State') === 'CS_NONE') continue
    if (name.startsWith('CHANNEL_') && id !== '' && !made.has(id) && !met.has(id)) met.set(id, rowOf(event))
  }
  return [...met.values()]
}

function rowOf(event: EslEvent): Row {
  const created = event.get('Caller-Channel-Created-Time')
  const dest = event.get('Caller-Destination-Number')
  const number = event.get('Caller-Caller-ID-Number')
  return {
    uuid: event.get('Unique-ID'),
    direction: event.get('Call-Direction'),
    created_epoch: created.slice(0, -6),
    name: event.get('Channel-Name'),
    state: event.get('Channel-State'),
    cid_name: event.get('Caller-Caller-ID-Name'),
    cid_num: number,
    dest,
    context: event.get('Caller-Context'),
    presence_id: event.get('Channel-Presence-ID'),
    callstate: event.get('Channel-Call-State'),
    callee_name: event.get('Caller-Callee-ID-Name'),
    callee_num: event.get('Caller-Callee-ID-Number'),
    call_uuid: event.get('Channel-Call-UUID'),
    initial_cid_name: event.get('Caller-Caller-ID-Name'),
    initial_cid_num: number,
    initial_dest: dest,
    initial_context: event.get('Caller-Context'),
  }
}

/**
 * Returns the application that a leg executes, as far as an event shows it; one that has ended stays in the list. A
 * recording without the events of applications shows no dial strings, so its list has no dial strings.
 */
function applicationOf(event: EslEvent, showsApplications: boolean): Row {
  if (event.name === APPLICATION_BEGINS)
    return { application: event.get('Application'), application_data: event.get('Application-Data') }
  const application = variableOf(event, 'current_application')
  if (application === '' || (application === 'bridge' && !showsApplications)) return {}
  return { application, application_data: variableOf(event, 'current_application_data') }
}

/** A leg that dials another has left its queue: a queue's agents name no leg that dials them. */
function leaveQueue(dialler: Row | undefined): void {
  if (dialler?.application !== 'callcenter') return
  delete dialler.application
  delete dialler.application_data
}

/** The channels that are up at this moment of the recording. */
type LiveEslChannels = {
  /** Begins with the channels that were up before a recording. */
  begin(recording: Pick<EslSteps, 'steps' | 'channels'>): void
  apply(event: EslEvent): void
  channels(): string
  calls(): string
  isEmpty(): boolean
}

/** Columns that later events change. */
const CHANGING = [
  'state',
  'cid_name',
  'cid_num',
  'dest',
  'context',
  'callstate',
  'callee_name',
  'callee_num',
  'call_uuid',
]

/** Returns a snapshot without channels. */
export function createLiveEslChannels(): LiveEslChannels {
  const rows = new Map<string, Row>()
  const pairs = new Map<string, string>()
  let showsApplications = true

  function apply(event: EslEvent): void {
    const id = event.get('Unique-ID')
    const row = rows.get(id)
    if (event.name === 'CHANNEL_CREATE') rows.set(id, rowOf(event))
    else if (event.name === 'CHANNEL_HANGUP_COMPLETE' || event.name === 'CHANNEL_DESTROY') {
      rows.delete(id)
      pairs.delete(id)
    } else if (row !== undefined) {
      const now = rowOf(event)
      for (const key of CHANGING) row[key] = now[key] || row[key] || ''
      Object.assign(row, applicationOf(event, showsApplications))
    }
    if (event.name === 'CHANNEL_CREATE') leaveQueue(rows.get(event.get('Other-Leg-Unique-ID')))
    if (event.name === 'CHANNEL_BRIDGE') {
      const [one, other] = [event.get('Bridge-A-Unique-ID'), event.get('Bridge-B-Unique-ID')]
      pairs.set(one, other)
      // A recording may have no event of the state of its legs. A bridge of early media has legs without an answer.
      for (const party of [one, other]) {
        const answered = event.get(party === id ? 'Caller-Channel-Answered-Time' : 'Other-Leg-Channel-Answered-Time')
        const bridged = rows.get(party)
        if (bridged !== undefined && answered !== '0') bridged.callstate = 'ACTIVE'
      }
    }
    if (event.name === 'CHANNEL_UNBRIDGE') pairs.delete(event.get('Bridge-A-Unique-ID') || id)
  }
  const table = (list: readonly Row[]): string =>
    JSON.stringify(list.length === 0 ? { row_count: 0 } : { row_count: list.length, rows: list })

  return {
    begin({ steps, channels }) {
      rows.clear()
      pairs.clear()
      showsApplications = steps.some(({ name }) => name === APPLICATION_BEGINS)
      for (const { b_uuid, ...row } of channels) {
        rows.set(row.uuid ?? '', row)
        if (b_uuid) pairs.set(row.uuid ?? '', b_uuid)
      }
    },
    apply,
    isEmpty: () => rows.size === 0,
    channels: () => table([...rows.values()]),
    calls() {
      const callees = new Set(pairs.values())
      const callers = [...rows.values()].filter((row) => !callees.has(row.uuid ?? ''))
      return table(callers.map((row) => ({ ...row, b_uuid: pairs.get(row.uuid ?? '') ?? '' })))
    },
  }
}
