import { useEffect, useState } from 'preact/hooks'
import type { FieldError } from '../../../../lib/fault.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { Loading } from '../../components/empty-state.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { FormField } from '../../components/form-field.tsx'
import { Icon } from '../../components/icon.tsx'
import { Time } from '../../components/time.tsx'
import { showToast } from '../../components/toast.tsx'
import { errorText, request } from '../../lib/api.ts'
import { useReconnected } from '../../lib/connection.ts'
import { useObservable } from '../../lib/observable.ts'
import type { NamedToken, TokenInfo } from '../../lib/resources.ts'
import { accessToken } from '../../lib/session.ts'
import { describeUserAgent } from '../../lib/user-agent.ts'

/** Shows the user's sessions and API tokens, revokes them and makes new API tokens. */
export function TokenList() {
  const [tokens, setTokens] = useState<readonly TokenInfo[] | null>(null)
  const [error, setError] = useState<string | null>(null)
  const [revoking, setRevoking] = useState<TokenInfo | null>(null)
  const load = async () => {
    const response = await request<TokenInfo[]>('GET', '/auth/token')
    setError(response.ok ? null : response.message)
    if (response.ok) setTokens(response.result)
  }
  const current = useObservable(accessToken)
  useEffect(() => void load(), [current])
  useReconnected(load)
  const revoke = async (token: TokenInfo) => {
    setRevoking(null)
    const response = await request('DELETE', `/auth/token/${token.id}`)
    if (response.ok) showToast('good', 'Revoked. It can no longer be used.')
    else showToast('bad', errorText(response))
    await load()
  }
  return (
    <section class="card" aria-labelledby="tokens">
      <header class="card-head">
        <h2 id="tokens">Sessions and API tokens</h2>
      </header>
      {error === null ? null : <ErrorMessage text={error} onRetry={load} />}
      <NewTokenForm onCreated={load} />
      {tokens === null ? <Loading what="the sessions" /> : <TokenRows tokens={tokens} onRevoke={setRevoking} />}
      {revoking === null ? null : (
        <ConfirmDialog
          title={revoking.name === null ? 'Log this session out?' : `Revoke ${revoking.name}?`}
          text={
            revoking.name === null
              ? 'The person or program that uses it has to log in again.'
              : 'Programs that use this token get the status 401 from now on.'
          }
          action={revoking.name === null ? 'Log out' : 'Revoke'}
          danger
          onConfirm={() => void revoke(revoking)}
          onClose={() => setRevoking(null)}
        />
      )}
    </section>
  )
}

function TokenRows({ tokens, onRevoke }: { tokens: readonly TokenInfo[]; onRevoke: (token: TokenInfo) => void }) {
  return (
    <ul class="tokens">
      {tokens.map((token) => {
        const title = token.name ?? describeUserAgent(token.client)
        return (
          <li key={token.id}>
            <Icon name={token.name === null ? 'user' : 'key'} />
            <div class="token-text">
              <b title={token.client ?? ''}>{title}</b>
              {token.current ? <span class="badge good">this session</span> : null}
              <p class="muted">
                {token.name === null ? 'logged in' : 'API token, made'} <Time at={token.created_at} day />
                {' · '}
                {token.last_used_at === null ? (
                  'never used'
                ) : (
                  <>
                    last used <Time at={token.last_used_at} day />
                  </>
                )}
              </p>
            </div>
            {token.current ? null : (
              <button type="button" onClick={() => onRevoke(token)} aria-label={`Revoke ${title}`}>
                Revoke
              </button>
            )}
          </li>
        )
      })}
    </ul>
  )
}

function NewTokenForm({ onCreated }: { onCreated: () => void }) {
  const [name, setName] = useState('')
  const [created, setCreated] = useState<NamedToken | null>(null)
  const [errors, setErrors] = useState<readonly FieldError[]>([])
  const create = async (event: Event) => {
    event.preventDefault()
    const response = await request<NamedToken>('POST', '/auth/token', { name })
    setErrors(response.ok ? [] : response.errors)
    if (!response.ok) {
      if (response.errors.length === 0) showToast('bad', response.message)
      return
    }
    setName('')
    setCreated(response.result)
    onCreated()
  }
  return (
    <>
      <form onSubmit={create} class="token-form">
        <FormField
          label="New API token, for"
          name="name"
          value={name}
          onInput={setName}
          errors={errors}
          hint="For a program that uses the API. It has your rights and is valid until it is revoked."
          required
        />
        <button type="submit">
          <Icon name="plus" /> Create
        </button>
      </form>
      {created === null ? null : (
        <div class="new-token" role="status">
          <p>
            Copy the token of <b>{created.name}</b> now. It is not shown again.
          </p>
          <CodeBlock text={created.access_token} label="the API token" />
        </div>
      )}
    </>
  )
}
