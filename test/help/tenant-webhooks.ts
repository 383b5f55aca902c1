import type { CallEvent } from '../../src/events/bodies.ts'
import type { Store } from '../../src/store/store.ts'
import { createWebhookService } from '../../src/webhooks/service.ts'
import { webhook } from './client.ts'
import type { Receiver } from './receiver.ts'

// Customers on one PBX, each with its own account and webhook, and the promises about the events that they get.

/** Gives each customer an account, whose webhook has the name of the account as its path. */
export async function addCustomers(store: Store, names: readonly string[], url: string): Promise<void> {
  const webhooks = createWebhookService({ webhooks: store.webhooks })
  for (const account of names) {
    const user = { account, type: 1, name: 'A', email: `a@${account.toLowerCase()}`, passwordHash: '', atUs: 0 }
    await store.accounts.userCreate(user)
    const id = (await store.accounts.accountGetId(account)) ?? 0
    await webhooks.replace(id, [webhook(`${url}/${account}`)], null)
  }
}

/** An event, with the account to whose webhook it was sent. */
type ReceivedEvent = { readonly to: string; readonly body: CallEvent['body'] }

/** Returns the events that the webhooks got, each once, in the order of their first arrival. */
export function eventsAt({ received }: Receiver): ReceivedEvent[] {
  const byId = new Map<string, Receiver['received'][number]>()
  for (const one of received) if (!byId.has(`${one.path} ${one.id}`)) byId.set(`${one.path} ${one.id}`, one)
  return [...byId.values()].map(({ path, body }) => ({ to: path.slice(1), body: JSON.parse(body) }))
}

/** Returns whether every call that was begun is over. */
export function areOver(events: readonly ReceivedEvent[]): boolean {
  const bodies = events.map(({ body }) => body)
  const over = new Set(bodies.flatMap(({ data }) => (data.name === 'call_saved' ? data.call.id : [])))
  for (const { data } of bodies) for (const id of data.call.merged_from) over.add(id)
  return bodies.every(({ data }) => over.has(data.call.id))
}

/** Returns the events that reached another customer's webhook; `customerOf` takes the PBX's id of a call. */
export function strays(events: readonly ReceivedEvent[], customerOf: (pbxId: string) => string): string[] {
  const wrong = events.filter(
    ({ to, body: { data } }) => data.account !== to || customerOf(data.call.pbx_id ?? '') !== to,
  )
  return wrong.map(({ to, body: { data } }) => `${data.name} of ${data.call.pbx_id} for ${to}`)
}

/** Returns the calls whose events came out of order or with a gap, or that did not begin once and end once. */
export function unsoundCalls(events: readonly ReceivedEvent[]): string[] {
  const bodies = events.map(({ body }) => body)
  const merged = new Set(bodies.flatMap(({ data }) => data.call.merged_from))
  return [...Map.groupBy(bodies, ({ data }) => data.call.id)].flatMap(([id, own]) => {
    const inOrder = own.every(({ data }, at) => data.sequence === at + 1)
    const count = (name: string): number => own.filter(({ data }) => data.name === name).length
    const ends = [count('call_ended'), count('call_saved')].join()
    const isOver = ends === '1,1' || (ends === '0,0' && merged.has(id))
    const isSound = inOrder && count('call_started') === 1 && isOver
    return isSound ? [] : [`${id}: ${own.map(({ data }) => `${data.sequence} ${data.name}`).join(', ')}`]
  })
}
