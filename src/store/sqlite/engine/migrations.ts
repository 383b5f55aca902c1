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
import audit from '../migrations/021.sql' with { type: 'text' }
import authorizations from '../migrations/022.sql' with { type: 'text' }
import flows from '../migrations/023.sql' with { type: 'text' }
import subjectStates from '../migrations/024.sql' with { type: 'text' }
import firstAttempts from '../migrations/025.sql' with { type: 'text' }
import contactErasures from '../migrations/026.sql' with { type: 'text' }
import authorizationDrafts from '../migrations/027.sql' with { type: 'text' }
import callsByE164 from '../migrations/028.sql' with { type: 'text' }
import callEnds from '../migrations/029.sql' with { type: 'text' }
import listVersions from '../migrations/030.sql' with { type: 'text' }
import replays from '../migrations/031.sql' with { type: 'text' }
import callRequests from '../migrations/032.sql' with { type: 'text' }
import people from '../migrations/033.sql' with { type: 'text' }
import callFacts from '../migrations/034.sql' with { type: 'text' }
import noRequests from '../migrations/035.sql' with { type: 'text' }

/** The migrations of a store in their order: each makes the next version of its schema. */
export const MIGRATIONS = [
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
  audit,
  authorizations,
  flows,
  subjectStates,
  firstAttempts,
  contactErasures,
  authorizationDrafts,
  callsByE164,
  callEnds,
  listVersions,
  replays,
  callRequests,
  people,
  callFacts,
  noRequests,
]
