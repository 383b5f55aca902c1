import { describe, expect, test } from 'bun:test'
import { allowListOf } from '../../src/app/settings.ts'
import { lookUpNumber } from '../../src/contacts/look-up-request.ts'
import { lookUpOf } from '../../src/contacts/settings.ts'
import { presetByName } from '../../src/flows/presets/catalog.ts'
import { createStepRenderer } from '../../src/flows/step-renderer.ts'
import { newExchange } from '../../src/outbound/exchange.ts'
import { newGuardedRequests } from '../../src/outbound/guarded-request.ts'
import type { CrmStub } from '../help/crm/server.ts'
import { STUBS } from '../help/crm/stubs.ts'
import { TEMPLATES } from '../help/templates.ts'

/** Each preset that looks contacts up, with the URL and key of its webhook, against its stub. */

const exchange = newExchange(newGuardedRequests({ allow: allowListOf(['loopback']), proxy: undefined }))
const steps = createStepRenderer(TEMPLATES, { accountId: 1, purpose: 'sending' })

async function found(stub: CrmStub, preset: string, e164: string) {
  const webhook = { url: stub.url, parameters: stub.parameters }
  const lookUp = lookUpOf(1, { settings: { preset }, secrets: {} }, webhook)
  if (lookUp === undefined) throw new Error(`${preset} looks nothing up`)
  const authorized = async () => ({ header: stub.authorization ?? '' })
  const authorizer = { authorize: authorized, renew: authorized }
  return await lookUpNumber(lookUp, { number: e164, e164 }, { steps, exchange, authorizer })
}

const LOOKING_UP = STUBS.filter(({ preset }) => presetByName(preset)?.lookup !== null)

describe.each(LOOKING_UP.map(({ label, preset, start }) => [label, preset, start] as const))(
  '%s',
  (_, preset, start) => {
    test('finds a contact, and tells a number that is not known from an error', async () => {
      const stub = start()
      try {
        const contact = await found(stub, preset, '+4930123456')
        expect(contact).toMatchObject({ kind: 'found', contact: { id: expect.stringMatching(/./) } })
        expect(contact).toMatchObject({ contact: { name: 'Maria Bern' } })
        expect(await found(stub, preset, '+4930999999')).toEqual({ kind: 'not found' })
        expect(stub.refusals).toEqual([])
        for (const answer of [...stub.limited, ...stub.passing]) {
          stub.failWith(() => answer)
          expect(await found(stub, preset, '+4930123456')).toMatchObject({ kind: 'failed' })
        }
      } finally {
        stub.stop()
      }
    })
  },
)
