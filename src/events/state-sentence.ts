/** The fields of a state event that the sentence uses; this program wrote the body. */
export type StateView = {
  readonly name: string
  readonly phone?: { extension: string; name: string | null; state: string; device: string }
  readonly trunk?: { trunk: string; state: string; reason: string | null }
  readonly agent?: { extension: string; queue: string; state: string; reason: string | null }
  readonly queue?: { queue: string; waiting: number; available: number; busy: number; paused: number }
}

const plain = (word: string): string => word.replaceAll('_', ' ')
const because = (reason: string | null): string => (reason === null ? '' : ` (${reason})`)

/** Returns a sentence on the event of a phone, trunk, agent or queue; `undefined` for any other event. Not escaped. */
export function stateSentenceOf({ phone, trunk, agent, queue }: StateView): string | undefined {
  if (phone !== undefined) {
    const who = phone.name === null ? phone.extension : `${phone.name} (${phone.extension})`
    return phone.state === 'registered' && phone.device !== 'unknown'
      ? `Phone ${who} is ${plain(phone.device)}`
      : `Phone ${who} is ${plain(phone.state)}`
  }
  if (trunk !== undefined) return `Trunk ${trunk.trunk} is ${plain(trunk.state)}${because(trunk.reason)}`
  if (agent !== undefined)
    return `Agent ${agent.extension} of ${agent.queue} is ${plain(agent.state)}${because(agent.reason)}`
  if (queue !== undefined)
    return `Queue ${queue.queue}: ${queue.waiting} waiting; agents: ${queue.available} available, ${queue.busy} busy, ${queue.paused} paused`
  return undefined
}
