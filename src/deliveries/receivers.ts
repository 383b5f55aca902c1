import type { Tx } from '../db/mutation.ts'
import type { NowUs } from '../lib/time.ts'
import { type Receiver, readReceiver } from './receiver-store.ts'

/** The webhooks as they were last read. `drop` when the list or a secret may have changed. */
export function createReceivers(read: Tx, nowUs: NowUs) {
  const known = new Map<number, Receiver>()
  return {
    get(webhookId: number): Receiver | undefined {
      const found = known.get(webhookId)
      if (found !== undefined && (found.signUntilUs === Number.POSITIVE_INFINITY || nowUs() < found.signUntilUs))
        return found
      const receiver = readReceiver(read, webhookId, nowUs())
      if (receiver !== undefined) known.set(webhookId, receiver)
      return receiver
    },
    drop: () => known.clear(),
  }
}

export type Receivers = ReturnType<typeof createReceivers>
