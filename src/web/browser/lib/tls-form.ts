import type { NewWebhookOptions } from '../../../webhooks/webhooks.ts'

type Stored = NonNullable<NewWebhookOptions['tls']>

/** The certificates of a webhook as its drawer edits them, in PEM. Pure. */
export type TlsForm = {
  readonly certificate: string
  /** Empty: the stored one is kept, since it cannot be read. */
  readonly key: string
  readonly ca: string
}

export const tlsFormOf = (stored: Stored | null): TlsForm => ({
  certificate: stored?.certificate ?? '',
  key: '',
  ca: stored?.ca ?? '',
})

const textOf = (text: string): string | null => (text.trim() === '' ? null : text)

/** Returns the certificates of a form; `null` for an empty form. */
export function tlsOf(form: TlsForm): Stored | null {
  const certificate = textOf(form.certificate)
  const key = textOf(form.key)
  const ca = textOf(form.ca)
  return certificate === null && key === null && ca === null ? null : { certificate, key, ca }
}

/** Returns the certificates of a form as one line. */
export function describeTls({ certificate, ca }: TlsForm): string {
  const parts = [certificate.trim() === '' ? [] : ['client certificate'], ca.trim() === '' ? [] : ['own authority']]
  return parts.flat().join(', ') || 'the usual authorities'
}
