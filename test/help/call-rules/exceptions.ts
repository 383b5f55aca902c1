/** Rules that do not hold where a test feeds what no real PBX sends, or what the tracker is known to get wrong, by their names. */

/** What the tracker is known to get wrong: a member that is emitted before the next is dialled is in no group yet. */
export const GROUP_SHOWN_LATE = 'a stage stays in its group'

/** Where the same events come in another order, clocks are estimated from later arrivals. */
export const OTHER_ORDERS: readonly string[] = [
  'stages are within their call',
  'members are within their group or queue',
  'started, answered, ended',
  'durations of a stage',
  'durations of a call',
  GROUP_SHOWN_LATE,
]

/** Streams at random have clocks that jump, channels that end before they begin, and facts that contradict each other. */
export const AT_RANDOM: readonly string[] = [
  ...OTHER_ORDERS,
  'who handled a call stays',
  'forwarded',
  'saved after its end',
  'the saved call is the ended call',
  'hang-up and result',
  'nobody handles a call twice in a row',
  'the final list has stages as they ended',
  'the final list has every stage',
  'attempts are counted',
  'who answered handles',
  'what is known stays',
  'recordings have their length',
  'recorded',
  'the queue of a call',
  'calls that were merged',
  'missed',
  'no extension calls from outside',
  'answered elsewhere',
  'a transferer leaves with the transfer',
  'a consultation has its call',
  'result and answer of a call',
  'state of a call',
]
