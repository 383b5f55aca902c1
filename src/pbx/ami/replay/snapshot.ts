import type { PbxRecording, RecordedStep } from '../../recorded/recording.ts'
import { AmiDecoder, type AmiFrame } from '../decoder.ts'
import { SNAPSHOT } from '../event-shapes.ts'
import { GROUP_VARIABLES } from '../events.ts'
import { type AmiConfigured, configuredOf } from './inventory.ts'

type AmiStep = RecordedStep & { readonly frame: AmiFrame }

type Loaded = {
  readonly steps: AmiStep[]
  readonly beginMs: number
  readonly channels: AmiFrame[]
  readonly configured: AmiConfigured
  /** The start of the recorded Asterisk, in milliseconds of the recording; NaN if unknown. */
  readonly bootMs: number
}

/** Returns the recording's events, without its greeting and the replies to its client. */
export function amiSteps(recording: PbxRecording): Loaded {
  const { bytes, cameMs } = recording
  const frames = new AmiDecoder().push(bytes)
  const lists = new Set(frames.filter((frame) => frame.has('EventList')).map((frame) => frame.get('ActionID')))
  const isAnswer = (frame: AmiFrame): boolean => frame.type === 'response' || lists.has(frame.get('ActionID'))
  const endOf = (index: number): number => frames[index + 1]?.offset ?? bytes.length
  const steps = frames.flatMap((frame, index) => {
    const end = endOf(index)
    return isAnswer(frame)
      ? []
      : [{ frame, bytes: bytes.subarray(frame.offset, end), atMs: cameMs(end), name: frame.name }]
  })
  const login = frames.findIndex((frame) => frame.type === 'response')
  const beginMs = cameMs(login < 0 ? 1 : endOf(login))
  const booted = steps.find(({ frame }) => frame.name === 'FullyBooted')
  const bootMs = booted === undefined ? Number.NaN : booted.atMs - Number(booted.frame.get('Uptime')) * 1_000
  return { steps, beginMs, channels: channelsBefore(frames), configured: configuredOf(frames), bootMs }
}

/** Returns the channels that were up when the recording began: listed or mentioned, but not created in it. */
function channelsBefore(frames: readonly AmiFrame[]): AmiFrame[] {
  const made = new Set(frames.filter((frame) => frame.name === 'Newchannel').map((frame) => frame.get('Uniqueid')))
  const met = new Map<string, AmiFrame>()
  for (const frame of frames) {
    const id = frame.get('Uniqueid')
    if (id !== '' && frame.has('ChannelStateDesc') && !made.has(id) && !met.has(id)) met.set(id, frame)
  }
  return [...met.values()]
}

type Row = {
  fields: Map<string, string>
  did: string
  bridge: string
  application: string
  data: string
  /** The variables with which lists are requested. */
  variables: Map<string, string>
  sinceMs: number
}

/** The channels that are up at this moment of the recording. */
type LiveAmiChannels = {
  reset(frames: readonly AmiFrame[], atMs: number): void
  apply(frame: AmiFrame, atMs: number): void
  status(actionId: string, atMs: number): string
  channels(actionId: string, atMs: number): string
  bridges(actionId: string): string
  isEmpty(): boolean
}

/** Returns a snapshot without channels. */
export function createLiveAmiChannels(): LiveAmiChannels {
  const rows = new Map<string, Row>()

  function snapshot(frame: AmiFrame, prefix: string, atMs: number): Row | undefined {
    const id = frame.get(`${prefix}Uniqueid`)
    if (id === '' || !frame.has(`${prefix}ChannelStateDesc`)) return undefined
    const row = rows.get(id) ?? newRow(frame, prefix, atMs)
    for (const key of SNAPSHOT) if (frame.has(prefix + key)) row.fields.set(key, frame.get(prefix + key))
    rows.set(id, row)
    return row
  }

  function apply(frame: AmiFrame, atMs: number): void {
    if (frame.name === 'Hangup') {
      rows.delete(frame.get('Uniqueid'))
      return
    }
    const known = rows.has(frame.get('Uniqueid'))
    const isFirst = frame.name === 'Newchannel'
    const row = known || isFirst ? snapshot(frame, '', atMs) : undefined
    const dialled = rows.has(frame.get('DestUniqueid')) ? snapshot(frame, 'Dest', atMs) : undefined
    if (frame.name === 'DialBegin' && dialled !== undefined) {
      dialled.application = rows.get(frame.get('Uniqueid'))?.application === 'Queue' ? 'AppQueue' : 'AppDial'
      dialled.data = '(Outgoing Line)'
    }
    if (row === undefined) return
    if (frame.name === 'VarSet') noteVariable(row, frame.get('Variable').replace(/^_+/, ''), frame.get('Value'))
    if (frame.name === 'BridgeEnter') row.bridge = frame.get('BridgeUniqueid')
    if (frame.name === 'BridgeLeave') row.bridge = ''
    if (frame.name === 'Newexten') {
      row.application = frame.get('Application')
      row.data = frame.get('AppData')
    }
  }

  return {
    reset(frames, atMs) {
      rows.clear()
      for (const frame of frames) snapshot(frame, '', atMs)
    },
    apply,
    isEmpty: () => rows.size === 0,
    status: (id, atMs) =>
      listReply(id, {
        end: 'StatusComplete',
        message: 'Channel status will follow',
        rows: [...rows.values()].map((row) => statusRow(row, id, atMs)),
      }),
    channels: (id, atMs) =>
      listReply(id, {
        end: 'CoreShowChannelsComplete',
        message: 'Channels will follow',
        rows: [...rows.values()].map((row) => channelRow(row, id, atMs)),
      }),
    bridges: (id) =>
      listReply(id, {
        end: 'BridgeListComplete',
        message: 'Bridge listing will follow',
        rows: bridgeRows([...rows.values()], id),
      }),
  }
}

type ListReply = { readonly end: string; readonly message: string; readonly rows: readonly string[] }

const listReply = (actionId: string, { end, message, rows }: ListReply): string =>
  [
    frameOf({ Response: 'Success', ActionID: actionId, EventList: 'start', Message: message }),
    ...rows,
    frameOf({ Event: end, ActionID: actionId, EventList: 'Complete', ListItems: String(rows.length) }),
  ].join('')

const frameOf = (fields: Readonly<Record<string, string>>): string =>
  `${Object.entries(fields)
    .map(([key, value]) => `${key}: ${value}\r\n`)
    .join('')}\r\n`

const secondsOf = (row: Row, atMs: number): number => Math.max(0, Math.floor((atMs - row.sinceMs) / 1_000))

const isRequested = (name: string): boolean => GROUP_VARIABLES.some((one) => one === name)

function noteVariable(row: Row, name: string, value: string): void {
  if (isRequested(name)) row.variables.set(name, value)
}

const statusRow = (row: Row, actionId: string, atMs: number): string =>
  frameOf({
    Event: 'Status',
    Privilege: 'Call',
    ...Object.fromEntries(row.fields),
    DNID: row.did,
    EffectiveConnectedLineNum: '<unknown>',
    BridgeID: row.bridge,
    Application: row.application,
    Data: row.data,
    Nativeformats: '(ulaw)',
    Seconds: String(secondsOf(row, atMs)),
    ActionID: actionId,
  }).replace(/\r\n$/, `${variablesOf(row)}\r\n`)

const variablesOf = ({ variables }: Row): string =>
  GROUP_VARIABLES.map((name) => `Variable: ${name}=${variables.get(name) ?? '(null)'}\r\n`).join('')

const channelRow = (row: Row, actionId: string, atMs: number): string =>
  frameOf({
    Event: 'CoreShowChannel',
    ActionID: actionId,
    ...Object.fromEntries(row.fields),
    Application: row.application,
    ApplicationData: row.data,
    Duration: new Date(secondsOf(row, atMs) * 1_000).toISOString().slice(11, 19),
    BridgeId: row.bridge,
  })

const bridgeRows = (rows: readonly Row[], actionId: string): string[] =>
  [...new Set(rows.map((row) => row.bridge))].filter(Boolean).map((bridge) =>
    frameOf({
      Event: 'BridgeListItem',
      ActionID: actionId,
      BridgeUniqueid: bridge,
      BridgeType: 'basic',
      BridgeNumChannels: String(rows.filter((row) => row.bridge === bridge).length),
    }),
  )

function newRow(frame: AmiFrame, prefix: string, atMs: number): Row {
  const [hours = 0, minutes = 0, secs = 0] = frame.get('Duration').split(':').map(Number)
  const agoMs = 1_000 * (Number(frame.get('Seconds')) || hours * 3_600 + minutes * 60 + secs)
  return {
    fields: new Map(),
    // A list has it for each channel: none for one that the PBX made itself.
    did: frame.has('DNID') ? frame.get('DNID') : frame.get(`${prefix}Exten`),
    bridge: frame.get('BridgeID') || frame.get('BridgeId') || frame.get('BridgeUniqueid'),
    application: frame.get('Application'),
    data: frame.get('ApplicationData') || frame.get('Data'),
    variables: new Map(
      frame.all('Variable').flatMap((pair) => {
        const [name = '', ...value] = pair.split('=')
        return isRequested(name) ? [[name, value.join('=')] as const] : []
      }),
    ),
    sinceMs: atMs - agoMs,
  }
}
