import { useEffect, useState } from 'preact/hooks'
import type { FieldError } from '../../../../lib/fault.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { Loading } from '../../components/empty-state.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { CheckField, FormField } from '../../components/form-field.tsx'
import { type Column, Table } from '../../components/table.tsx'
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
    <section aria-labelledby="tokens">
      <header class="section-head">
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
    <Table
      label="Sessions and API tokens"
      items={tokens}
      columns={columnsOf(onRevoke)}
      keyOf={({ id }) => String(id)}
    />
  )
}

const titleOf = ({ name, client }: TokenInfo): string => name ?? describeUserAgent(client)

const kindOf = ({ current, name, calls, pop, extension }: TokenInfo): string => {
  if (current) return 'this session'
  if (name === null) return 'session'
  const kind = pop ? `pop page${extension === null ? '' : ` of ${extension}`}` : 'API token'
  return calls ? `${kind}, may make calls` : kind
}

const columnsOf = (onRevoke: (token: TokenInfo) => void): Column<TokenInfo>[] => [
  {
    name: 'What',
    place: 'a1',
    cell: (token) => (
      <span class="cut" title={token.client ?? ''}>
        <span class="key">
          <bdi>{titleOf(token)}</bdi>
        </span>
        <span class="dim"> {kindOf(token)}</span>
      </span>
    ),
  },
  { name: 'Made', width: 130, cell: ({ created_at: at }) => <Time at={at} /> },
  {
    name: 'Last used',
    width: 150,
    place: 'b1',
    cell: ({ last_used_at: at }) =>
      at === null ? (
        'never used'
      ) : (
        <>
          <span class="in-row">last used </span>
          <Time at={at} />
        </>
      ),
  },
  {
    name: 'Actions',
    isNameHidden: true,
    width: 84,
    place: 'a2',
    isEnd: true,
    cell: (token) =>
      token.current ? null : (
        <button
          type="button"
          class="button small"
          onClick={() => onRevoke(token)}
          aria-label={`Revoke ${titleOf(token)}`}
        >
          Revoke
        </button>
      ),
  },
]

function NewTokenForm({ onCreated }: { onCreated: () => void }) {
  const [name, setName] = useState('')
  const [makesCalls, setMakesCalls] = useState(false)
  const [isPop, setPop] = useState(false)
  const [extension, setExtension] = useState('')
  const [created, setCreated] = useState<NamedToken | null>(null)
  const [errors, setErrors] = useState<readonly FieldError[]>([])
  const create = async (event: Event) => {
    event.preventDefault()
    const response = await request<NamedToken>('POST', '/auth/token', {
      name,
      calls: makesCalls,
      ...(isPop ? { pop: true } : {}),
      ...(isPop && extension.trim() !== '' ? { extension: extension.trim() } : {}),
    })
    setErrors(response.ok ? [] : response.errors)
    if (!response.ok) {
      if (response.errors.length === 0) showToast('bad', response.message)
      return
    }
    setName('')
    setMakesCalls(false)
    setPop(false)
    setExtension('')
    setCreated(response.result)
    onCreated()
  }
  return (
    <>
      <form onSubmit={create} class="with-button">
        <FormField
          label="New API token, for"
          name="name"
          value={name}
          onInput={setName}
          errors={errors}
          hint="For a program that uses the API. It has your rights and is valid until it is revoked."
          required
        />
        <button class="button" type="submit">
          Create
        </button>
      </form>
      <CheckField checked={makesCalls} onChange={setMakesCalls}>
        <span>
          It may make calls
          <small>Click to call, from the phones of this account.</small>
        </span>
      </CheckField>
      <CheckField checked={isPop} onChange={setPop}>
        <span>
          It is for the pop page alone
          <small>A small page that shows who calls, for a window or a frame of your CRM. It reads nothing else.</small>
        </span>
      </CheckField>
      {isPop ? (
        <FormField
          label="Only the calls of the extension"
          name="extension"
          value={extension}
          onInput={setExtension}
          errors={errors}
          placeholder="101"
          hint="Empty: all calls of this account."
        />
      ) : null}
      {created === null ? null : <Created token={created} />}
    </>
  )
}

function Created({ token: { name, pop, extension, access_token: token } }: { token: NamedToken }) {
  const query = extension === null ? '' : `?extension=${encodeURIComponent(extension)}`
  return (
    <div class="stack tight" role="status">
      <p>
        Copy the {pop ? 'link' : 'token'} of <bdi>{name}</bdi> now. It is not shown again.
      </p>
      {pop ? (
        <CodeBlock text={`${location.origin}/pop${query}#token=${token}`} label="the link" />
      ) : (
        <CodeBlock text={token} label="the API token" />
      )}
    </div>
  )
}
