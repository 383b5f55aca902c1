import type { FieldError } from '../../../../lib/fault.ts'
import { Fold } from '../../components/fold.tsx'
import { FieldErrors, TextField } from '../../components/form-field.tsx'
import { describeTls, type TlsForm } from '../../lib/tls-form.ts'

type Props = {
  form: TlsForm
  /** Whether a key is stored: an empty field keeps the stored key. */
  hasKey: boolean
  errors: readonly FieldError[]
  onChange: (form: TlsForm) => void
}

/** Shows the client certificate of a webhook, its key, which is not read back, and the authorities that it trusts. */
export function TlsFold({ form, hasKey, errors, onChange }: Props) {
  const own = errors.filter(({ path }) => path.startsWith('/tls'))
  return (
    <Fold title="Certificates" value={describeTls(form)} isOpen={own.length > 0}>
      <FieldErrors errors={own.filter(({ path }) => path === '/tls')} />
      <TextField
        label="Client certificate"
        name="tls/certificate"
        rows={4}
        value={form.certificate}
        onInput={(certificate) => onChange({ ...form, certificate })}
        errors={errors}
        placeholder="-----BEGIN CERTIFICATE-----"
        hint="For a receiver that asks for one, in PEM. Intermediate certificates follow it."
      />
      <TextField
        label="Its private key"
        name="tls/key"
        rows={3}
        value={form.key}
        onInput={(key) => onChange({ ...form, key })}
        errors={errors}
        placeholder={hasKey ? 'stored' : '-----BEGIN PRIVATE KEY-----'}
        hint={`Without a passphrase. Cannot be read again${hasKey ? '; empty: the stored one is kept' : ''}.`}
      />
      <TextField
        label="Certificate authorities"
        name="tls/ca"
        rows={3}
        value={form.ca}
        onInput={(ca) => onChange({ ...form, ca })}
        errors={errors}
        placeholder="-----BEGIN CERTIFICATE-----"
        hint="Trusted for this webhook in place of the usual ones, in PEM. Empty: the usual ones."
      />
    </Fold>
  )
}
