// The reason codes of brokers: MQTT 5.0, 2.4, and MQTT 3.1.1, 3.2.2.3.

const REASONS: Readonly<Record<number, string>> = {
  128: 'an unspecified error',
  129: 'a malformed packet',
  130: 'a protocol error',
  131: 'an error of its own',
  132: 'this version of MQTT is not supported',
  133: 'the client identifier is not valid',
  134: 'the user name or password is wrong',
  135: 'not authorized',
  136: 'the server is unavailable',
  137: 'the server is busy',
  138: 'this client is banned',
  139: 'the server is shutting down',
  140: 'the authentication method is not accepted',
  141: 'nothing was sent for too long',
  142: 'another client has taken over the session',
  144: 'the topic name is not valid',
  145: 'the packet identifier is in use',
  147: 'more messages at a time than the broker allows',
  149: 'the packet is too large',
  150: 'too many messages a second',
  151: 'a quota is exceeded',
  152: 'an administrator closed the connection',
  153: 'the payload is not in the promised format',
  154: 'retained messages are not supported',
  155: 'this quality of service is not supported',
  156: 'use another server',
  157: 'the server has moved',
  159: 'too many connections a second',
  160: 'the connection has lasted for the longest time allowed',
}

/** The codes with which MQTT 3.1.1 refuses a connection, as MQTT 5 codes. */
const RETURN_CODES: Readonly<Record<number, number>> = { 1: 132, 2: 133, 3: 136, 4: 134, 5: 135 }

/** The first code for a failure. */
const FIRST_FAILURE = 128
const CODES = 256
export const ALL_FAILURES: readonly number[] = Array.from(
  { length: CODES - FIRST_FAILURE },
  (_, at) => FIRST_FAILURE + at,
)
export const UNSUPPORTED_VERSION = 132

/** Codes that are about one message: another may be accepted at once. */
const ABOUT_THE_MESSAGE: ReadonlySet<number> = new Set([135, 144, 149, 153, 154, 155])

export const isFailure = (code: number): boolean => code >= FIRST_FAILURE
/** Returns whether a failure is about one message: another message may be accepted at once. */
export const isAboutTheMessage = (code: number): boolean => ABOUT_THE_MESSAGE.has(code)

/** Returns whether the error of an attempt in the log is a broker's refusal of the message. */
export function isMessageRefused(error: string): boolean {
  const code = /\(reason code (\d+)/.exec(error)?.[1]
  return code !== undefined && isAboutTheMessage(Number(code))
}

/** Returns the reason code of MQTT 5 for the return code of a CONNACK of MQTT 3.1.1. */
export const reasonCodeOf = (returnCode: number): number => (returnCode === 0 ? 0 : (RETURN_CODES[returnCode] ?? 128))

/** Describes a code, with the text that the broker may have added: `not authorized (reason code 135)`. */
export function describeReason(code: number, text?: string): string {
  const added = text === undefined || text === '' ? '' : `: ${text}`
  return `${REASONS[code] ?? 'an unknown reason'} (reason code ${code}${added})`
}
