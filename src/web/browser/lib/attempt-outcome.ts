/** How an attempt or a test request ended. An MQTT broker that acknowledges gives neither a status nor an error. */
type Ended = { readonly status: number | null; readonly error: string | null }

/** Returns whether the receiver accepted the event. */
export const isAccepted = ({ status, error }: Ended): boolean =>
  error === null && (status === null || (status >= 200 && status < 300))

/** Writes the answer of the receiver in a word. */
export const describeAnswer = ({ status, error }: Ended): string =>
  status === null ? (error === null ? 'acknowledged' : 'no response') : `response ${status}`
