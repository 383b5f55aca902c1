/**
 * The words that the sources do not use, each with a better one. They are English, but say too little, mean something else in telephony,
 * or were private words of an earlier version. Matched as whole words in comments, messages and the parts of identifiers.
 */
export const BETTER_WORDS: Readonly<Record<string, string>> = {
  anew: 'again',
  caretaker: 'expiry',
  held: 'kept back, holding, delayed, occupied',
  house: 'module',
  look: 'check, read, inspect',
  looked: 'checked, read, inspected',
  looking: 'checking, searching',
  looks: 'checks, reads, inspects',
  mend: 'fix',
  mended: 'fixed',
  mending: 'fixing',
  mends: 'fixes',
  room: 'module, space, conference',
  rooms: 'modules, conferences',
  said: 'stated, reported, warned',
  say: 'state, report, mean',
  says: 'states, contains, means',
  settle: 'settling (noun), decide, resolve',
  settled: 'decided, resolved',
  settles: 'decides, resolves',
  somebody: 'a person, a process, a client, a party',
  stands: 'is',
  stories: 'scenarios',
  'take out': 'remove, delete',
  'taken out': 'removed, deleted',
  'takes out': 'removes, deletes',
  'taking out': 'removing, deleting',
  story: 'scenario, sequence of events',
  tell: 'emit, send, report, distinguish',
  telling: 'emitting, sending, reporting',
  tells: 'emits, sends, reports, distinguishes',
  told: 'emitted, sent, reported, distinguished',
  whatever: 'any, regardless of',
  whoever: 'the client, the user, the process',
}

/**
 * Returns the words of a text that have a better one. `look up`, and so `lookup`, are words of the field, and `call_held` is the name of
 * an event.
 */
export function wordsToReplace(text: string): string[] {
  const rest = text.toLowerCase().replace(/\bcall[_ ]held\b/g, '')
  // A quotation mark before or behind a word is no part of it.
  const words = rest.matchAll(/\b(?:taken?|takes|taking) out\b|[a-z]+(?:'[a-z]+)*/g)
  return [...words].filter(({ 0: word, index }) => isBad(word, rest.slice(index + word.length))).map(([word]) => word)
}

const isBad = (word: string, after: string): boolean =>
  Object.hasOwn(BETTER_WORDS, word) && !(word.startsWith('look') && /^(s|ed)?[- ]?up\b/.test(after))

/** Names of the platform. */
const PLATFORM = /\ballSettled\b/

/** Returns the words of an identifier, in lower case: `lookUpName` are `look`, `up` and `name`. */
export const identifierWords = (identifier: string): string =>
  identifier
    .replace(PLATFORM, '')
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase()

/** The first words with which the docstring of an exported function may start. Add a verb here when it is a verb. */
export const VERBS: ReadonlySet<string> = new Set(
  `Accepts Adds Answers Appends Applies Asks Assigns Authenticates Awaits Begins Binds Blanks Bounds Builds Calls Cancels Changes
   Charts Checks Chooses Classifies Cleans Closes Collects Combines Commits Compares Completes Compresses Computes Configures Connects
   Converts Copies Corrects Counts Creates Cuts Decides Declares Decodes Deletes Delivers Derives Describes Detects Distinguishes Divides Draws
   Drops Emits Empties Encodes Ends Enters Erases Escapes Evaluates Expires Explains Extracts Fails Feeds Fetches Fills Filters Finds
   Finishes Follows Forgets Formats Gets Gives Groups Guards Handles Hashes Hides Holds Ignores Inserts Installs Invites Joins Judges Keeps
   Labels Leaves Lets Limits Lists Loads Locks Logs Makes Maps Marks Masks Matches Measures Merges Migrates Moves Names Normalizes Notes
   Notifies Numbers Observes Opens Orders Orphans Pairs Parks Parses Passes Picks Pings Places Plays Posts Predicts Prepares Prints Proves
   Prunes Publishes Puts Queues Quotes Ranks Reads Reconnects Reconstructs Records Redraws Refuses Registers Rejects Releases Remembers
   Removes Renames Renders Repeats Replaces Replays Reports Requests Resolves Restores Resumes Retries Returns Reverses Rotates Runs
   Samples Saves Schedules Searches Selects Sends Serves Sets Shortens Shows Signs Skips Sorts Spends Splits Starts States Stops Stores
   Strips Subscribes Summarizes Swaps Synchronizes Takes Tests Throws Tracks Translates Tries Trims Truncates Turns Undoes Unlocks
   Updates Upgrades Validates Verifies Waits Walks Warns Watches Weighs Wraps Writes Yields`.split(/\s+/),
)
