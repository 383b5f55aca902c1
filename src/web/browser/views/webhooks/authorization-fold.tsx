import type { FieldError } from '../../../../lib/fault.ts'
import { HTTP_METHODS } from '../../../../outbound/http-methods.ts'
import { Segments } from '../../components/choice.tsx'
import { Fold } from '../../components/fold.tsx'
import { CheckField, FieldErrors, FormField, SelectField, TextField } from '../../components/form-field.tsx'
import { GuideLink } from '../../components/guide-link.tsx'
import { type AuthorizationForm, describeAuthorization } from '../../lib/authorization-form.ts'
import { HeaderLines } from './header-lines.tsx'

type Props = {
  form: AuthorizationForm
  /** The kind of the stored one, whose secrets are kept while their fields are empty. */
  stored: AuthorizationForm['kind']
  errors: readonly FieldError[]
  onChange: (form: AuthorizationForm) => void
}

const KINDS = { none: 'None', oauth2: 'OAuth 2.0', login: 'A log-in' } as const
const KIND_NAMES = ['none', 'oauth2', 'login'] as const
const PATH = '/authorization'

/** Shows how the header `authorization` of the requests is obtained. Secrets are not read back. */
export function AuthorizationFold(props: Props) {
  const { form, errors, onChange } = props
  const own = errors.filter(({ path }) => path.startsWith(PATH))
  return (
    <Fold title="Authorization" value={describeAuthorization(form)} isOpen={own.length > 0}>
      <p class="hint">
        For a receiver that wants a token in each request. Hookswitch gets it, and renews it before it expires.{' '}
        <GuideLink guide="webhooks" anchor="tokens">
          The guide
        </GuideLink>
      </p>
      <Segments
        label="Authorization"
        value={form.kind}
        options={KIND_NAMES.map((kind) => [kind, KINDS[kind]] as const)}
        onChange={(chosen) => onChange({ ...form, kind: KIND_NAMES.find((kind) => kind === chosen) ?? 'none' })}
      />
      <FieldErrors errors={own.filter(({ path }) => path === PATH)} />
      {form.kind === 'oauth2' ? <OAuthFields {...props} /> : null}
      {form.kind === 'login' ? <LoginFields {...props} /> : null}
    </Fold>
  )
}

const secretHint = ({ form, stored }: Props) =>
  form.kind === stored ? 'Cannot be read again. Empty: the stored one is kept.' : 'Cannot be read again.'

function OAuthFields(props: Props) {
  const { form, errors, onChange } = props
  return (
    <div class="fields">
      <FormField
        label="Token URL"
        name="authorization/token_url"
        value={form.tokenUrl}
        onInput={(tokenUrl) => onChange({ ...form, tokenUrl })}
        errors={errors}
        placeholder="https://login.example.com/token"
      />
      <FormField
        label="Scope"
        name="authorization/scope"
        value={form.scope}
        onInput={(scope) => onChange({ ...form, scope })}
        errors={errors}
        hint="Empty: none is asked for."
      />
      <FormField
        label="Client id"
        name="authorization/client_id"
        value={form.clientId}
        onInput={(clientId) => onChange({ ...form, clientId })}
        errors={errors}
      />
      <FormField
        label="Client secret"
        name="authorization/client_secret"
        type="password"
        value={form.clientSecret}
        onInput={(clientSecret) => onChange({ ...form, clientSecret })}
        errors={errors}
        hint={secretHint(props)}
      />
      <CheckField checked={form.isOfUser} onChange={(isOfUser) => onChange({ ...form, isOfUser })}>
        <span>
          The token belongs to a user
          <small>Otherwise Hookswitch asks with the client's own secret.</small>
        </span>
      </CheckField>
      {form.isOfUser ? (
        <FormField
          label="Refresh token"
          name="authorization/refresh_token"
          type="password"
          value={form.refreshToken}
          onInput={(refreshToken) => onChange({ ...form, refreshToken })}
          errors={errors}
          hint={secretHint(props)}
        />
      ) : null}
    </div>
  )
}

const REQUEST = `${PATH}/request`

function LoginFields(props: Props) {
  const { form, errors, onChange } = props
  const ofRequest = errors.flatMap(({ path, message }) =>
    path.startsWith(`${REQUEST}/headers`) ? [{ path: path.slice(REQUEST.length), message }] : [],
  )
  return (
    <>
      <div class="fields">
        <FormField
          label="Address of the log-in"
          name="authorization/request/url"
          value={form.url}
          onInput={(url) => onChange({ ...form, url })}
          errors={errors}
          placeholder="/login"
          hint="On the host of the webhook. With a / in front it is from its root."
        />
        <SelectField
          label="Method"
          value={form.method}
          options={HTTP_METHODS.map((one) => [one, one] as const)}
          onChange={(chosen) => onChange({ ...form, method: HTTP_METHODS.find((one) => one === chosen) ?? 'POST' })}
        />
      </div>
      <TextField
        label="Body of the log-in"
        name="authorization/request/body"
        rows={3}
        value={form.body}
        onInput={(body) => onChange({ ...form, body })}
        errors={errors}
        placeholder={'{"user":"hookswitch","password":"…"}'}
        hint={secretHint(props)}
      />
      <div class="fields">
        <FormField
          label="Content-Type"
          name="authorization/request/content_type"
          value={form.contentType}
          onInput={(contentType) => onChange({ ...form, contentType })}
          errors={errors}
        />
        <FormField
          label="Where the answer has the token"
          name="authorization/token"
          value={form.token}
          onInput={(token) => onChange({ ...form, token })}
          errors={errors}
          hint="A JSON pointer."
        />
        <FormField
          label="It is valid for (seconds)"
          name="authorization/expires_in"
          value={form.expiresIn}
          onInput={(expiresIn) => onChange({ ...form, expiresIn })}
          errors={errors}
          hint="A number, or a JSON pointer into the answer."
        />
        <FormField
          label="Value of the header"
          name="authorization/header"
          value={form.header}
          onInput={(header) => onChange({ ...form, header })}
          errors={errors}
          hint="{{ token }} stands for the token."
        />
      </div>
      <p class="label">Headers of the log-in</p>
      <HeaderLines headers={form.headers} errors={ofRequest} onChange={(headers) => onChange({ ...form, headers })} />
    </>
  )
}
