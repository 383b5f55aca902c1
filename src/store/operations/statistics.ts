// Figures of each minute, from which the page shows the last hour.

/** The figures of one minute of a webhook; `webhookId` 0 stands for the account as a whole. */
export type MinuteFigures = {
  readonly accountId: number
  readonly webhookId: number
  /** Minutes since 1970. */
  readonly minute: number
  readonly events: number
  readonly delivered: number
  readonly failedAttempts: number
  readonly failedProbes: number
  /** Pairs of a latency's bucket and how many were in it. */
  readonly latencies: readonly number[]
}

export type StatisticsStore = {
  /** Saves the figures of some minutes, replaces earlier figures of these minutes, and deletes all before a minute. */
  minuteSave(step: { figures: readonly MinuteFigures[]; beforeMinute: number }): Promise<void>
  /** Returns the figures of one minute (counted since 1970) of all accounts, as this process saved them. */
  minuteGet(minute: number): Promise<MinuteFigures[]>
  /** Returns the figures of some minutes of an account, of all processes: several of one webhook add up. */
  minuteGetOfAccount(query: { accountId: number; minutes: readonly number[] }): Promise<MinuteFigures[]>
}
