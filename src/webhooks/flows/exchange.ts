/** A request to the owner's system that is not a delivery: it is not signed. */
export type ExchangeRequest = {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** A longer answer has no text. */
  readonly maxAnswerBytes: number
  /** The time limit of the answer; 10 s by default. */
  readonly timeoutMs?: number
}

/** The answer; without one, `status` is `null` and `failure` is the reason. */
export type Exchanged = {
  readonly status: number | null
  readonly failure: string | null
  /** The whole body; `null` if there was none, it is longer than `maxAnswerBytes`, or it broke off. */
  readonly text: string | null
  readonly retryAfterMs: number | null
  readonly durationMs: number
}

/** Sends a request to a checked address, like a delivery (address guard, proxy). Never rejects. */
export type Exchange = (request: ExchangeRequest) => Promise<Exchanged>
