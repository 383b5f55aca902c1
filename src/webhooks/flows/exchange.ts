/** A request to a system of the owner that is no delivery: it is not signed. */
export type ExchangeRequest = {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** Of a longer answer there is no text. */
  readonly maxAnswerBytes: number
  /** How long the answer may take; 10 s unless it is given. */
  readonly timeoutMs?: number
}

/** The answer; `status` is `null` if there was none, and `failure` then says why. */
export type Exchanged = {
  readonly status: number | null
  readonly failure: string | null
  /** The whole body; `null`: there was none, or it is longer than `maxAnswerBytes`, or it broke off. */
  readonly text: string | null
  readonly retryAfterMs: number | null
  readonly durationMs: number
}

/** Makes a request to a checked address, as deliveries are sent (address guard, proxy). Never rejects. */
export type Exchange = (request: ExchangeRequest) => Promise<Exchanged>
