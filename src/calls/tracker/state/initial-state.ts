import type { Endpoint } from '../../signal.ts'
import { ANONYMOUS, type Call, type Channel, type Dial, type Stage } from './state.ts'

/** The initial values of the tracker's state; they also fill in fields that an earlier version did not store. */

/** Shared, since most lists of most calls are empty. */
const NONE: readonly never[] = []
const NO_VARIABLES: Readonly<Record<string, string>> = {}

/** Creates a call without any facts. */
export function newCall(of: Pick<Call, 'id' | 'account' | 'boot' | 'pbxId' | 'startedUs'>): Call {
  // Each field by name: an object that begins with a spread takes half as much memory again.
  return {
    id: of.id,
    model: 2,
    account: of.account,
    boot: of.boot,
    pbxId: of.pbxId,
    startedUs: of.startedUs,
    tenant: null,
    accountDueUs: null,
    linkedIds: [],
    root: null,
    channels: [],
    parentId: null,
    consultedBy: null,
    mergedFrom: NONE,
    mergedInto: null,
    clickToCall: false,
    customerFirst: false,
    paged: false,
    parking: null,
    recall: null,
    direction: null,
    directionKnown: false,
    from: ANONYMOUS,
    to: ANONYMOUS,
    did: null,
    answeredUs: null,
    endedUs: null,
    answeredBy: null,
    handled: NONE,
    metUnseen: false,
    stages: [],
    stagesOmitted: 0,
    queues: NONE,
    recordings: NONE,
    transfers: NONE,
    customs: NONE,
    holds: NONE,
    transferCount: 0,
    transferred: NONE,
    recorded: false,
    voicemail: false,
    pbxAnswered: false,
    variables: NO_VARIABLES,
    unseen: false,
    lost: null,
    hungUpBy: null,
    sequence: 0,
    last: null,
    emitted: false,
    startDueUs: null,
    endDueUs: null,
    saveDueUs: null,
    saveLatestUs: null,
    ended: false,
  }
}

/** The facts of a channel that may be known from its beginning on. */
type Known = Partial<
  Pick<Channel, 'linkedId' | 'tenant' | 'seenSeq' | 'dialledNumber' | 'shown' | 'originated' | 'upUs'>
>

/** Returns a channel without further facts. */
export function newChannel(id: string, endpoint: Endpoint, of: Known = {}): Channel {
  return {
    id,
    callId: null,
    linkedId: of.linkedId ?? null,
    endpoint,
    tenant: of.tenant ?? null,
    seenSeq: of.seenSeq ?? 0,
    dialledNumber: of.dialledNumber ?? null,
    moves: NONE,
    shown: of.shown ?? null,
    calls: null,
    originated: of.originated === true,
    upUs: of.upUs ?? null,
    rangUs: null,
    bridge: null,
    inConference: false,
    inHoldingBridge: false,
    conference: null,
    onHold: false,
    holdDoubtUs: null,
    spoke: false,
    talked: NONE,
    talkedUs: null,
    ringing: NONE,
    slot: null,
    queuing: null,
    adopted: false,
    pair: null,
    half: null,
    dial: null,
    goneUs: null,
    goneSeq: 0,
    goneArrivedUs: null,
    end: null,
    hungUpItself: false,
    leftUs: null,
    missingUs: null,
    missingArrivedUs: null,
  }
}

/** Returns a stage that nothing has happened in. */
export function newStage(
  of: Pick<Stage, 'id' | 'kind' | 'target' | 'name' | 'attempt' | 'startedUs' | 'source'>,
): Stage {
  return {
    id: of.id,
    parentId: null,
    placed: false,
    key: null,
    kind: of.kind,
    target: of.target,
    name: of.name,
    attempt: of.attempt,
    firstUs: null,
    again: false,
    startedUs: of.startedUs,
    rangUs: null,
    answeredUs: null,
    enteredUs: null,
    endedUs: null,
    result: null,
    forwardedTo: null,
    legs: [],
    source: of.source,
    sinceUs: null,
    shownBy: null,
    rungOut: false,
    dialler: null,
    rang: false,
    answered: false,
    ended: false,
    settlingSinceUs: null,
    overUs: null,
    emitted: { started: false, answered: false, ended: false },
    own: false,
  }
}

/** Returns a dial that has just begun. */
export function newDial(source: string | null, beganUs: number | null, beganArrivedUs: number): Dial {
  return {
    source,
    handedOverBy: null,
    place: null,
    placeFollows: false,
    forwarded: false,
    notByQueue: false,
    forConference: false,
    paged: false,
    intercom: false,
    beganUs,
    foundUs: null,
    beganSeq: 0,
    answeredSeq: 0,
    endedSeq: 0,
    beganArrivedUs,
    rangUs: null,
    answeredUs: null,
    foundRinging: false,
    foundAnswered: false,
    endedUs: null,
    result: null,
    provisional: false,
    forwardedTo: null,
    stageId: null,
  }
}
