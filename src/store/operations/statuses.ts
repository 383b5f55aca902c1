// Nodes let each other know here how things are that only their owner knows, and send hints. Only an engine that
// several machines can share has it: a node that is alone knows all of it itself.

/** The status of a webhook, JSON. */
export type WebhookStatusRecord = {
  readonly webhookId: number
  /** The term of the lease of its account under which this is written. */
  readonly term: string
  readonly status: string
}

/** `isPresent`: its owner is alive; else this is how it was. */
export type WebhookStatusRow = { readonly webhookId: number; readonly status: string; readonly isPresent: boolean }

/** The place of a note about deliveries of an account: the number grows with each note of a node. */
export type ChangePosition = { readonly accountId: number; readonly node: string; readonly number: number }
/** Deliveries that changed, as a node noted them. */
type DeliveryChanges = ChangePosition & { readonly ids: readonly number[] }

export type StatusStore = {
  /** Replaces the statuses of some webhooks. One whose lease has another term by now is left out. */
  webhookStatusSet(statuses: readonly WebhookStatusRecord[]): Promise<void>
  /** Returns the statuses of these webhooks as they were set last. */
  webhookStatusGetMany(webhookIds: readonly number[]): Promise<WebhookStatusRow[]>
  /** Returns the names of accounts that each node owns, in their order, at most `limit` of each. */
  accountListByNode(limit: number): Promise<{ readonly node: string; readonly account: string }[]>
  /** Replaces the accounts whose deliveries a node follows; they are forgotten after 10 s. */
  followedSet(followed: { readonly node: string; readonly accountIds: readonly number[] }): Promise<void>
  /** Returns the accounts that nodes other than this one follow. */
  followedGet(node: string): Promise<number[]>
  /**
   * Notes changed deliveries of the accounts that other nodes follow, ignores the others, and deletes this node's notes
   * that are older than 10 s.
   */
  deliveryChangesAdd(changes: {
    readonly node: string
    readonly number: number
    readonly ids: readonly number[]
  }): Promise<void>
  /** Returns the notes of other nodes for these accounts after these positions, each node's in order. */
  deliveryChangesGet(query: {
    readonly node: string
    readonly accountIds: readonly number[]
    readonly after: readonly ChangePosition[]
  }): Promise<DeliveryChanges[]>
  /**
   * Sends all nodes the hint that events of these accounts were stored, at most 400. It may be lost: the newest events
   * of the accounts show the same.
   */
  arrivalHint(accountIds: readonly number[]): Promise<void>
  /** Calls back with the accounts of each hint, of any node. Returns a function that ends it. */
  arrivalListen(onHint: (accountIds: readonly number[]) => void): () => Promise<void>
}
