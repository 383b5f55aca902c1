import { useEffect, useState } from 'preact/hooks'
import { request, withQuery } from './api.ts'
import type { Agent, Phone, Queue, Trunk } from './resources.ts'
import { accessToken } from './session.ts'

const EVERY_MS = 2_000

/** The present states of phones, trunks, queues and agents. */
type PresentStates = {
  readonly phones: readonly Phone[]
  readonly trunks: readonly Trunk[]
  readonly queues: readonly Queue[]
  readonly agents: readonly Agent[]
}

/** Reads the present states of all PBXs (`''`) or of one, again every two seconds. */
export function usePresent(pbx: string): { now: PresentStates | null; problem: string | null } {
  const [now, setNow] = useState<PresentStates | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  useEffect(() => {
    let isOpen = true
    setNow(null)
    const load = async () => {
      const token = accessToken.get()
      const query = { pbx: pbx === '' ? undefined : pbx }
      const [phones, trunks, queues, agents] = await Promise.all([
        request<Phone[]>('GET', withQuery('/phone', query)),
        request<Trunk[]>('GET', withQuery('/trunk', query)),
        request<Queue[]>('GET', withQuery('/queue', query)),
        request<Agent[]>('GET', withQuery('/agent', query)),
      ])
      // Another user may have logged in meanwhile, who must not see this account.
      if (!isOpen || accessToken.get() !== token) return
      const failed = [phones, trunks, queues, agents].find((one) => !one.ok)
      setProblem(failed === undefined || failed.ok ? null : failed.message)
      if (phones.ok && trunks.ok && queues.ok && agents.ok)
        setNow({ phones: phones.result, trunks: trunks.result, queues: queues.result, agents: agents.result })
    }
    void load()
    const timer = setInterval(() => {
      if (!document.hidden) void load()
    }, EVERY_MS)
    return () => {
      isOpen = false
      clearInterval(timer)
    }
  }, [pbx])
  return { now, problem }
}
