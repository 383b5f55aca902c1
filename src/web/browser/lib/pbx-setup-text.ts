import { PBX_PROTOCOLS, type PbxKind } from '../../../lib/pbx-kinds.ts'
import { READ_LINE, WRITE_LINE } from '../../../pbx/ami/manager-conf.ts'
import type { PbxFields } from './pbx-fields.ts'

/**
 * The lines that make a PBX accept the connection, their file, and the command after which they count. `intro` and
 * `hint` are texts of the page, with code in backquotes.
 */
type PbxSetup = {
  readonly intro: string
  readonly file: string
  readonly text: string
  readonly command: string
  readonly hint: string
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

const MANAGER_CONF = '/etc/asterisk/manager.conf'
const EVENT_SOCKET = 'autoload_configs/event_socket.conf.xml'

const SETUPS: Readonly<Record<PbxKind, (login: Login) => PbxSetup>> = {
  asterisk: ({ user, secret, port, isLocal, isOverTls }) => ({
    intro: `Add these lines to \`${MANAGER_CONF}\` of your Asterisk:`,
    file: MANAGER_CONF,
    command: 'asterisk -rx "manager reload"',
    hint: 'This user can only read. With FreePBX, add its section to `manager_custom.conf`. On another machine the events cross the network unencrypted unless you use TLS or a VPN.',
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
    intro: `Let the file \`${EVENT_SOCKET}\` of your FreeSWITCH contain this:`,
    file: EVENT_SOCKET,
    command: 'fs_cli -x "reload mod_event_socket"',
    hint: 'The event socket has no TLS, and its password allows everything: reach it on the same machine, or through a VPN or an SSH tunnel.',
    text: `<configuration name="event_socket.conf" description="Socket Client"><settings>
  <param name="listen-ip" value="${isLocal ? '127.0.0.1' : '0.0.0.0'}"/>
  <param name="listen-port" value="${port}"/>
  <param name="password" value="${escapeXml(secret)}"/>${isLocal ? '' : '\n  <param name="apply-inbound-acl" value="lan"/>'}
</settings></configuration>`,
  }),
}

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
