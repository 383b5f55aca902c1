import initial from '../migrations/001.sql' with { type: 'text' }
import leftWebhooks from '../migrations/002.sql' with { type: 'text' }
import clock from '../migrations/003.sql' with { type: 'text' }
import callsByNumber from '../migrations/004.sql' with { type: 'text' }
import leftSecrets from '../migrations/005.sql' with { type: 'text' }
import tokenNames from '../migrations/006.sql' with { type: 'text' }
import prunedTo from '../migrations/007.sql' with { type: 'text' }
import generations from '../migrations/008.sql' with { type: 'text' }
import operatorActs from '../migrations/009.sql' with { type: 'text' }
import pbxMemory from '../migrations/010.sql' with { type: 'text' }
import minutes from '../migrations/011.sql' with { type: 'text' }
import eventsPrunedTo from '../migrations/012.sql' with { type: 'text' }
import webhookOptions from '../migrations/013.sql' with { type: 'text' }
import recordings from '../migrations/014.sql' with { type: 'text' }
import operatorFacts from '../migrations/015.sql' with { type: 'text' }
import pbxs from '../migrations/016.sql' with { type: 'text' }
import ownerRequests from '../migrations/017.sql' with { type: 'text' }
import formerRecordings from '../migrations/018.sql' with { type: 'text' }
import histories from '../migrations/019.sql' with { type: 'text' }
import outages from '../migrations/020.sql' with { type: 'text' }
import flowsAndStates from '../migrations/030.sql' with { type: 'text' }
import callsAndPeople from '../migrations/035.sql' with { type: 'text' }
import popTokens from '../migrations/036.sql' with { type: 'text' }

const ONE_BY_ONE = [
  initial,
  leftWebhooks,
  clock,
  callsByNumber,
  leftSecrets,
  tokenNames,
  prunedTo,
  generations,
  operatorActs,
  pbxMemory,
  minutes,
  eventsPrunedTo,
  webhookOptions,
  recordings,
  operatorFacts,
  pbxs,
  ownerRequests,
  formerRecordings,
  histories,
  outages,
]

type Migration = {
  /** The version of the schema that it makes of the one before. */
  readonly to: number
  readonly text: string
}

/** The migrations of a store in their order. */
const MIGRATIONS: readonly Migration[] = [
  ...ONE_BY_ONE.map((text, at) => ({ to: at + 1, text })),
  { to: 30, text: flowsAndStates },
  { to: 35, text: callsAndPeople },
  { to: 36, text: popTokens },
]

/** The version of the schema that this program uses. */
export const NEWEST_VERSION = MIGRATIONS.at(-1)?.to ?? 0

/** Returns whether a version can be migrated: a few versions that no release had cannot. */
export const isMigrated = (version: number): boolean => version === 0 || MIGRATIONS.some(({ to }) => to === version)

/** Returns the migrations after a version, up to another one. */
export const migrationsBetween = (after: number, upTo: number = NEWEST_VERSION): readonly Migration[] =>
  MIGRATIONS.filter(({ to }) => to > after && to <= upTo)
