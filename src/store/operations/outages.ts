/**
 * A webhook, PBX or trunk that was reported as down, or the refusals of a webhook. `key`: the webhook's id, the PBX's
 * name, or the names of the PBX and its trunk; `name`: the reported name.
 */
export type Outage = {
  readonly what: 'webhook' | 'refusal' | 'pbx' | 'trunk'
  readonly key: string
  readonly name: string
}

export type OutageStore = {
  /** Returns the outages that were reported, in the order of their keys. */
  outageList(what: Outage['what']): Promise<Outage[]>
  /** Notes that something is reported as down. Returns false if it was already. */
  outageAdd(outage: Outage): Promise<boolean>
  /** Notes that an outage is reported as over. Returns false if it was already: then another one reports it. */
  outageRemove(outage: Pick<Outage, 'what' | 'key'>): Promise<boolean>
}
