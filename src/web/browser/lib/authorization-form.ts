import type { NewWebhookOptions } from '../../../webhooks/webhooks.ts'
import { type HeaderLine, headerLinesOf, headersOfLines } from './header-lines.ts'

type Stored = NonNullable<NewWebhookOptions['authorization']>
type LoginRequest = NonNullable<Stored['request']>

/** How a webhook gets its header `authorization`, as the drawer edits it. Stored secrets are empty texts. Pure. */
export type AuthorizationForm = {
  readonly kind: 'none' | 'oauth2' | 'login'
  readonly tokenUrl: string
  readonly clientId: string
  readonly clientSecret: string
  /** Whether the token belongs to a user, who has given a refresh token. */
  readonly isOfUser: boolean
  readonly refreshToken: string
  readonly scope: string
  readonly url: string
  readonly method: NonNullable<LoginRequest['method']>
  readonly contentType: string
  readonly headers: readonly HeaderLine[]
  readonly body: string
  readonly token: string
  /** Seconds, or a pointer. */
  readonly expiresIn: string
  readonly header: string
}

const NO_AUTHORIZATION: AuthorizationForm = {
  kind: 'none',
  tokenUrl: '',
  clientId: '',
  clientSecret: '',
  isOfUser: false,
  refreshToken: '',
  scope: '',
  url: '',
  method: 'POST',
  contentType: 'application/json',
  headers: [],
  body: '',
  token: '/access_token',
  expiresIn: '/expires_in',
  header: 'Bearer {{ token }}',
}

/** Returns the form of a stored authorization. */
export function authorizationFormOf(stored: Stored | null): AuthorizationForm {
  if (stored === null) return NO_AUTHORIZATION
  if (stored.kind === 'oauth2')
    return {
      ...NO_AUTHORIZATION,
      kind: 'oauth2',
      tokenUrl: stored.token_url ?? '',
      clientId: stored.client_id ?? '',
      isOfUser: stored.refresh_token !== undefined,
      scope: stored.scope ?? '',
    }
  const { url, method, content_type: contentType, headers } = stored.request ?? {}
  return {
    ...NO_AUTHORIZATION,
    kind: 'login',
    url: url ?? '',
    method: method ?? 'POST',
    contentType: contentType ?? NO_AUTHORIZATION.contentType,
    headers: headerLinesOf(headers ?? {}),
    token: stored.token ?? '',
    expiresIn: stored.expires_in === undefined ? '' : String(stored.expires_in),
    header: stored.header ?? NO_AUTHORIZATION.header,
  }
}

const secretOf = (text: string): string | null => (text === '' ? null : text)

/** Returns the authorization that a form describes; `null` in the place of a secret keeps the stored one. */
export function authorizationOf(form: AuthorizationForm): Stored | null {
  if (form.kind === 'none') return null
  if (form.kind === 'oauth2')
    return {
      kind: 'oauth2',
      token_url: form.tokenUrl.trim(),
      client_id: form.clientId.trim(),
      client_secret: secretOf(form.clientSecret),
      ...(form.isOfUser ? { refresh_token: secretOf(form.refreshToken) } : {}),
      scope: secretOf(form.scope.trim()),
    }
  const seconds = Number(form.expiresIn)
  return {
    kind: 'login',
    request: {
      url: form.url.trim(),
      method: form.method,
      content_type: form.contentType.trim(),
      headers: headersOfLines(form.headers),
      body: secretOf(form.body),
    },
    token: form.token.trim(),
    expires_in: form.expiresIn.trim() === '' || Number.isNaN(seconds) ? form.expiresIn.trim() : seconds,
    header: form.header,
  }
}

/** Returns the authorization of a form as one line. */
export function describeAuthorization({ kind, tokenUrl, url }: AuthorizationForm): string {
  if (kind === 'none') return 'none'
  if (kind === 'oauth2') return `OAuth 2.0${URL.canParse(tokenUrl) ? `, ${new URL(tokenUrl).host}` : ''}`
  return `log-in${url === '' ? '' : ` at ${url}`}`
}
