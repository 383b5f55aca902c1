import { READ_LINE, WRITE_LINE } from '../../../pbx/ami/manager-conf.ts'

/** The kinds of PBX that the form offers, with the scheme and the usual port of each. */
export const PBX_KINDS = {
  asterisk: { title: 'Asterisk', scheme: 'ami', port: '5038' },
  tls: { title: 'Asterisk, TLS', scheme: 'amis', port: '5039' },
  freeswitch: { title: 'FreeSWITCH', scheme: 'esl', port: '8021' },
} as const

export type PbxKind = keyof typeof PBX_KINDS

/** The fields of the form. All texts are as people type them, without percent-encoding. */
export type PbxFields = {
  readonly kind: PbxKind
  readonly name: string
  readonly host: string
  /** Empty: the usual one. */
  readonly port: string
  readonly user: string
  /** `***`: the stored one is kept. */
  readonly secret: string
  /** Empty: the default account. */
  readonly account: string
  /** The other parameters of the URL, as they are written in it. */
  readonly more: string
}

const SECRET_BYTES = 18
const FIRST_NAME = 'office'

/** Returns a new secret for a PBX. */
export const newPbxSecret = (random: (bytes: Uint8Array) => Uint8Array): string =>
  [...random(new Uint8Array(SECRET_BYTES))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/** Returns the fields of a new PBX, with a secret that is made for it. */
export function newPbxFields(secret: string): PbxFields {
  return {
    kind: 'asterisk',
    name: FIRST_NAME,
    host: '127.0.0.1',
    port: '',
    user: 'hookswitch',
    secret,
    account: '',
    more: '',
  }
}

/** Returns the fields of a new PBX with a free name, if its name is still the proposed one. */
export function withFreeName(fields: PbxFields, taken: readonly string[]): PbxFields {
  if (fields.name !== FIRST_NAME) return fields
  const names = [FIRST_NAME, ...taken.map((_, at) => `${FIRST_NAME}-${at + 2}`)]
  return { ...fields, name: names.find((name) => !taken.includes(name)) ?? FIRST_NAME }
}

/** Returns why a new PBX cannot have its name, `null` if it can: it would replace the PBX that has the name. */
export function findNameError({ name }: PbxFields, taken: readonly string[]): string | null {
  const text = name.trim()
  return taken.includes(text)
    ? `There is a PBX ${text} already: give this one another name, or change that one under PBXs.`
    : null
}

/** Returns the error of the port, `null` if it is valid: a URL with a wrong port cannot be read at all. */
export function findPortError({ port }: PbxFields): string | null {
  const text = port.trim()
  const isPort = text === '' || (/^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535)
  return isPort ? null : `The port is ${text}: give a number from 1 to 65535.`
}

/** Returns the URL of the fields. */
export function pbxUrlOf({ kind, name, host, port, user, secret, account, more }: PbxFields): string {
  const { scheme } = PBX_KINDS[kind]
  const bare = host.trim()
  const address = bare.includes(':') && !bare.startsWith('[') ? `[${bare}]` : bare
  const login = `${kind === 'freeswitch' ? '' : encodeURIComponent(user.trim())}:${encodeURIComponent(secret)}`
  const parameters = [
    `name=${encodeURIComponent(name.trim())}`,
    ...(account.trim() === '' ? [] : [`account=${encodeURIComponent(account.trim())}`]),
    ...more.trim().replace(/^[?&]/, '').split('&').filter(Boolean),
  ]
  return `${scheme}://${login}@${address}${port.trim() === '' ? '' : `:${port.trim()}`}?${parameters.join('&')}`
}

/** Returns the fields of a URL, as the API shows it to administrators. */
export function pbxFieldsOf(url: string, name: string): PbxFields {
  const [, scheme = '', login = '', address = '', query = ''] =
    /^(\w+):\/\/(?:([^/?#]*)@)?([^/?#]*)[^?#]*(?:\?([^#]*))?/.exec(url) ?? []
  const [, host = '', port = ''] = /^(.*?)(?::(\d+))?$/.exec(address) ?? []
  const [user = '', secret = ''] = login.split(/:(.*)/s)
  const pairs = query.split('&').filter(Boolean)
  const parameter = (key: string) => pairs.find((pair) => pair.startsWith(`${key}=`))?.slice(key.length + 1) ?? ''
  return {
    kind: scheme === 'esl' ? 'freeswitch' : scheme === 'amis' ? 'tls' : 'asterisk',
    name,
    host: host.replace(/^\[|\]$/g, ''),
    port,
    user: decoded(user),
    secret: decoded(secret),
    account: decoded(parameter('account')),
    more: pairs.filter((pair) => !/^(name|account)=/.test(pair)).join('&'),
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The lines that make a PBX accept the connection, their file, and the command after which they count. */
type PbxSetup = { readonly file: string; readonly text: string; readonly command: string }

/** Returns the lines to write into the configuration of a PBX. */
export function pbxSetupOf({ kind, host, port, user, secret: given }: PbxFields): PbxSetup {
  // The stored secret is not shown, and must not be replaced by its mask.
  const secret = given === '***' ? '…' : given
  const isLocal = /^(127\.|localhost$|::1$)/.test(host.trim())
  const number = port.trim() || PBX_KINDS[kind].port
  if (kind === 'freeswitch')
    return {
      file: 'autoload_configs/event_socket.conf.xml',
      command: 'fs_cli -x "reload mod_event_socket"',
      text: `<configuration name="event_socket.conf" description="Socket Client"><settings>
  <param name="listen-ip" value="${isLocal ? '127.0.0.1' : '0.0.0.0'}"/>
  <param name="listen-port" value="${number}"/>
  <param name="password" value="${escapeXml(secret)}"/>${isLocal ? '' : '\n  <param name="apply-inbound-acl" value="lan"/>'}
</settings></configuration>`,
    }
  const listening =
    kind === 'tls'
      ? `tlsenable = yes\ntlsbindaddr = 0.0.0.0:${number}\ntlscertfile = /etc/asterisk/keys/asterisk.pem`
      : `bindaddr = ${isLocal ? '127.0.0.1' : '0.0.0.0'}${number === PBX_KINDS.asterisk.port ? '' : `\nport = ${number}`}`
  return {
    file: '/etc/asterisk/manager.conf',
    command: 'asterisk -rx "manager reload"',
    text: `[general]
enabled = yes
${listening}
timestampevents = yes

[${user.trim() || 'hookswitch'}]
secret = ${secret}
${READ_LINE}
${WRITE_LINE}`,
  }
}

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
