import { Type } from '@sinclair/typebox'
import { Elysia, t } from 'elysia'
import { type Access, operatorGuard } from '../../auth/auth.ts'
import { accepts } from '../../http/accepts.ts'
import { BODY_FAULTS, takes } from '../../http/body.ts'
import { responses, success } from '../../http/envelope.ts'
import { callListWithNumber } from '../../store/operations/maintenance.ts'
import type { Store } from '../../store/store.ts'

const count = (description: string) => Type.Integer({ minimum: 0, description })

/** The counts of erased records, and of the records that are left. */
export const Erased = t.Object({
  calls: count('Call records'),
  events: count('Events whose bodies were emptied'),
  pending: count('Events that are still to be delivered'),
  live: count('Calls that are still active'),
  copies: count('Copies of recordings, which the service deletes'),
  files: t.Array(t.String(), { description: "The PBX's own files of recordings, which stay" }),
})
export type Erased = typeof Erased.static

const Numbers = t.Object(
  { numbers: t.Array(t.String({ minLength: 1, maxLength: 256 }), { minItems: 1, maxItems: 100 }) },
  { additionalProperties: false },
)

const NOTHING: Erased = { calls: 0, events: 0, pending: 0, live: 0, copies: 0, files: [] }
/** Small steps, because the service waits for each of them. */
const CALLS_A_STEP = 50

type Dependencies = {
  readonly store: Pick<Store, 'contacts' | 'maintenance' | 'recordings'>
  /** Called after numbers were erased, to forget their contacts. */
  readonly onErased: () => void
}

/** Creates `POST /erase`, for the operator of the machine: it erases numbers from the calls of every account. */
export function eraseRoutes({ auth, audit }: Pick<Access, 'auth' | 'audit'>, { store, onErased }: Dependencies) {
  return new Elysia({ name: 'erase', normalize: false, encodeSchema: false })
    .use(accepts)
    .use(operatorGuard(auth))
    .post(
      '/erase',
      async ({ user, body: { numbers }, request, server }) => {
        let sum = NOTHING
        for (const number of numbers) sum = added(sum, await erase(store, number))
        onErased()
        // The trail is kept for long: it does not have the numbers.
        const { calls, events, pending, live } = sum
        const facts = { numbers: numbers.length, calls, events, pending, live }
        await audit.note('numbers_erased', { user, client: audit.clientOf(request, server) }, facts)
        return success(sum, 'The numbers were erased.')
      },
      { ...takes(Numbers), response: responses(Erased, ...BODY_FAULTS), detail: { hide: true } },
    )
}

async function erase({ contacts, maintenance, recordings }: Dependencies['store'], number: string): Promise<Erased> {
  await contacts.contactsForget()
  let sum: Erased = { ...NOTHING, live: await maintenance.liveCallErase(number) }
  const ids = await callListWithNumber(maintenance, number)
  for (let at = 0; at < ids.length; at += CALLS_A_STEP) {
    const step = ids.slice(at, at + CALLS_A_STEP)
    const found = await recordings.recordingListOfCalls(step)
    // First: once the calls are gone, another run would not find them.
    await recordings.recordingErase(step)
    const counts = await maintenance.callErase(step)
    const copies = found.filter(({ copy }) => copy !== null).length
    sum = added(sum, { ...NOTHING, ...counts, copies, files: found.map(({ pbx, path }) => `${pbx}: ${path}`) })
  }
  return sum
}

const added = (one: Erased, other: Erased): Erased => ({
  calls: one.calls + other.calls,
  events: one.events + other.events,
  pending: one.pending + other.pending,
  live: one.live + other.live,
  copies: one.copies + other.copies,
  files: [...one.files, ...other.files],
})
