import { expect, test } from 'bun:test'
import type { CallEvent } from '../../../src/events/bodies.ts'
import { isOnlyOnRequest } from '../../../src/events/kinds.ts'
import { presetByName } from '../../../src/flows/presets/catalog.ts'
import { runPreset } from '../../help/crm/run-flow.ts'
import { situationOf } from '../../help/crm/situations.ts'
import { STUBS } from '../../help/crm/stubs.ts'

// The title of a call in a CRM names the contact that a step before has found, although the PBX shows no name.

const NAME = 'Bea Berlin'
const { events } = situationOf('asterisk/a-inbound-answered*2')
const [first] = events
/** Two calls of one number: at the second the PBX shows no name. */
const named = events.map((event): CallEvent => {
  const { data } = event.body
  const from = { ...data.call.from, name: event.callId === first?.callId ? NAME : null }
  return { ...event, body: { ...event.body, data: { ...data, call: { ...data.call, from } } } as CallEvent['body'] }
})

/** How each CRM shows the contact that it finds. The others have no title, or look for no contact. */
const FOUND: Readonly<Record<string, string>> = {
  hubspot: 'Maria Bern',
  odoo: NAME,
  pipedrive: 'Maria Bern',
  zendesk: NAME,
  espocrm: `${NAME} 15551230001`,
  vtiger: 'Maria Bern',
  zoho: 'Maria Bern',
}
const WITH_TITLES = STUBS.filter(({ preset }) => FOUND[preset] !== undefined)

/** Returns the titles of a call in the requests, which are JSON, or a form with JSON in it. */
const titlesIn = (texts: readonly string[]): string[] =>
  texts.flatMap((text) => /Incoming call from [^"]*/.exec(text.replaceAll('%22', '"').replaceAll(/\+|%20/g, ' ')) ?? [])

test.each(WITH_TITLES.map(({ label, preset, start }) => [label, preset, start] as const))(
  '%s',
  async (_, name, start) => {
    const preset = presetByName(name)
    if (preset === undefined) throw new Error(`there is no preset ${name}`)
    const stub = start()
    try {
      const { failures } = await runPreset({
        preset,
        parameters: { ...stub.parameters, users: {} },
        webhookUrl: stub.url,
        events: named.filter(({ name: kind }) => !isOnlyOnRequest(kind) || preset.events.some((one) => one === kind)),
        authorization: stub.authorization,
      })
      expect({ failures, titles: titlesIn(stub.requests.map(({ text }) => text)) }).toEqual({
        failures: [],
        titles: [`Incoming call from ${NAME}`, `Incoming call from ${FOUND[name]}`],
      })
    } finally {
      stub.stop()
    }
  },
)
