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

/** The figures of an account in a quarter of an hour; the account 0 stands for the service, which ran then. */
export type QuarterFigures = Omit<MinuteFigures, 'webhookId' | 'minute'> & {
  /** Quarters of an hour since 1970. */
  readonly quarter: number
}

export type StatisticsStore = {
  /** Saves figures of quarters in place of earlier figures, and deletes the accounts' figures before a quarter. */
  quarterSave(step: { figures: readonly QuarterFigures[]; beforeQuarter: number }): Promise<void>
  /** Returns the figures of an account from a quarter on, and of the service, of all processes, in their order. */
  quarterGetOfAccount(query: { accountId: number; fromQuarter: number }): Promise<QuarterFigures[]>
  /** Saves the figures of some minutes, replaces earlier figures of these minutes, and deletes all before a minute. */
  minuteSave(step: { figures: readonly MinuteFigures[]; beforeMinute: number }): Promise<void>
  /** Returns the figures of one minute (counted since 1970) of all accounts, as this process saved them. */
  minuteGet(minute: number): Promise<MinuteFigures[]>
  /** Returns the figures of some minutes of an account, of all processes: several of one webhook add up. */
  minuteGetOfAccount(query: { accountId: number; minutes: readonly number[] }): Promise<MinuteFigures[]>
}
