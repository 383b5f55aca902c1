import { type Static, type TSchema, Type as t } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { forSwitches } from '../../events/kinds.ts'
import type { Webhook } from '../../webhooks/webhooks.ts'

const Token = t.Object({ access_token: t.String() })
const Secrets = t.Array(t.Object({ url: t.String(), secret: t.String() }))

type Account = { readonly email: string; readonly password: string; readonly webhook: string }

/** Configures a webhook as a client would: logs in, sets the list, and returns the secret. */
export async function configureWebhook(base: string, { email, password, webhook }: Account): Promise<string> {
  const { access_token } = await ask(Token, base, 'POST', '/auth/login', { body: { email, password } })
  await ask(t.Unknown(), base, 'PUT', '/integration/webhook', { token: access_token, body: [everyEvent(webhook)] })
  const secrets = await ask(Secrets, base, 'GET', '/integration/webhook/secret', { token: access_token })
  return secrets[0]?.secret ?? ''
}

const everyEvent = (url: string): Webhook => ({ url, ...forSwitches(() => true) })

type Ask = { readonly token?: string; readonly body?: unknown }

async function ask<Schema extends TSchema>(
  schema: Schema,
  base: string,
  method: string,
  path: string,
  { token, body }: Ask,
): Promise<Static<Schema>> {
  const response = await fetch(base + path, {
    method,
    proxy: false,
    headers: {
      accept: 'application/json',
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const { result, message } = Value.Parse(t.Object({ result: t.Unknown(), message: t.String() }), await response.json())
  if (!response.ok) throw new Error(`${method} ${path}: ${message}`)
  return Value.Parse(schema, result)
}
