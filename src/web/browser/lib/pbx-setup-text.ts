import { PBX_PROTOCOLS, type PbxKind } from '../../../lib/pbx-kinds.ts'
import { READ_LINE, WRITE_LINE } from '../../../pbx/ami/manager-conf.ts'
import type { PbxFields } from './pbx-fields.ts'

/** The lines that make a PBX accept the connection, their file, and the command after which they count. */
type PbxSetup = {
  /** The words before and after the name of the file. */
  readonly sentence: readonly [before: string, after: string]
  readonly file: string
  readonly text: string
  readonly command: string
}

/** The fields that the lines depend on; empty ones have their usual values. */
type Login = { readonly user: string; readonly secret: string; readonly port: string } & {
  readonly isLocal: boolean
  readonly isOverTls: boolean
}

/** Returns the lines to write into the configuration of a PBX. */
export function pbxSetupOf({ protocol, host, port, user, secret }: PbxFields): PbxSetup {
  const { kind, port: usualPort, isOverTls } = PBX_PROTOCOLS[protocol]
  return SETUPS[kind]({
    user: user.trim() || 'hookswitch',
    // The stored secret is not shown, and must not be replaced by its mask.
    secret: secret === '***' ? '…' : secret,
    port: port.trim() || String(usualPort),
    isLocal: /^(127\.|localhost$|::1$)/.test(host.trim()),
    isOverTls,
  })
}

const SETUPS: Readonly<Record<PbxKind, (login: Login) => PbxSetup>> = {
  asterisk: ({ user, secret, port, isLocal, isOverTls }) => ({
    sentence: ['Add these lines to ', ' of your Asterisk:'],
    file: '/etc/asterisk/manager.conf',
    command: 'asterisk -rx "manager reload"',
    text: `[general]
enabled = yes
${
  isOverTls
    ? `tlsenable = yes\ntlsbindaddr = 0.0.0.0:${port}\ntlscertfile = /etc/asterisk/keys/asterisk.pem`
    : `bindaddr = ${isLocal ? '127.0.0.1' : '0.0.0.0'}${port === String(PBX_PROTOCOLS.ami.port) ? '' : `\nport = ${port}`}`
}
timestampevents = yes

[${user}]
secret = ${secret}
${READ_LINE}
${WRITE_LINE}`,
  }),
  freeswitch: ({ secret, port, isLocal }) => ({
    sentence: ['Let the file ', ' of your FreeSWITCH contain this:'],
    file: 'autoload_configs/event_socket.conf.xml',
    command: 'fs_cli -x "reload mod_event_socket"',
    text: `<configuration name="event_socket.conf" description="Socket Client"><settings>
  <param name="listen-ip" value="${isLocal ? '127.0.0.1' : '0.0.0.0'}"/>
  <param name="listen-port" value="${port}"/>
  <param name="password" value="${escapeXml(secret)}"/>${isLocal ? '' : '\n  <param name="apply-inbound-acl" value="lan"/>'}
</settings></configuration>`,
  }),
}

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
