import { checkAmi } from './ami/check.ts'
import { asteriskCalls } from './ami/originate.ts'
import { amiDialect } from './ami/protocol.ts'
import { readRecordedAmi } from './ami/recorded-events.ts'
import { createAsterisk } from './ami/replay/asterisk.ts'
import { talkAmi } from './ami/talk.ts'
import { createAmiTranslator } from './ami/translator/translator.ts'
import type { CallMaker, CallTimeouts } from './connection/call-order.ts'
import type { Check } from './connection/finding.ts'
import { type StartSession, sessionsOf } from './connection/session.ts'
import type { Endpoints } from './endpoints/endpoints.ts'
import { checkEsl } from './esl/check.ts'
import { freeswitchCalls } from './esl/originate.ts'
import { eslDialect } from './esl/protocol.ts'
import { readRecordedEsl } from './esl/recorded-events.ts'
import { createFreeswitch } from './esl/replay/freeswitch.ts'
import { talkEsl } from './esl/talk.ts'
import { createEslTranslator } from './esl/translator/translator.ts'
import type { Persona } from './recorded/persona.ts'
import type { ReadOptions, RecordedEvents } from './recorded/recorded-events.ts'
import type { OpenTalk } from './recorded/talk.ts'
import type { PbxKind } from './source/pbx-facts.ts'
import type { PbxSource } from './source/pbx-url.ts'

type Kind = {
  /** Follows a PBX: its dialect (login, lists, states) with its translator. */
  readonly startSession: StartSession
  readonly check: Check
  /** Has calls made, apart from the connection that follows the PBX. */
  readonly createCallMaker: (source: PbxSource, timeouts: CallTimeouts) => CallMaker
  /** Talks to a PBX whose bytes are recorded. */
  readonly talk: OpenTalk
  readonly readRecorded: (options: ReadOptions, endpoints: Endpoints) => RecordedEvents
  /** Plays the part of such a PBX. */
  readonly createPersona: () => Persona
}

/** How each kind of PBX is followed, checked, recorded and replayed. Their facts are in source/pbx-facts.ts. */
export const KINDS: Readonly<Record<PbxKind, Kind>> = {
  asterisk: {
    startSession: sessionsOf(amiDialect, createAmiTranslator),
    check: checkAmi,
    createCallMaker: asteriskCalls,
    talk: talkAmi,
    readRecorded: (options, endpoints) => readRecordedAmi(createAmiTranslator(options, endpoints), options, endpoints),
    createPersona: createAsterisk,
  },
  freeswitch: {
    startSession: sessionsOf(eslDialect, createEslTranslator),
    check: checkEsl,
    createCallMaker: freeswitchCalls,
    talk: talkEsl,
    readRecorded: (options, endpoints) => readRecordedEsl(createEslTranslator(options, endpoints), options, endpoints),
    createPersona: createFreeswitch,
  },
}
