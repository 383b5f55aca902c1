import { callsUserLines, managerUserLines } from '../../../pbx/ami/manager-conf.ts'
import { eventSocketLines } from '../../../pbx/esl/event-socket-conf.ts'
import { PBX_PROTOCOLS } from '../../../pbx/source/pbx-facts.ts'
import { isLocal, type PbxFields } from './pbx-fields.ts'
import type { PbxProduct } from './pbx-products.ts'

/**
 * The instructions to make a PBX accept the connection: an introduction, lines or commands to copy, each with its
 * purpose, and a hint.
 * `intro` and `hint` are texts of the page, with code in backquotes.
 */
type PbxSetup = {
  readonly intro: string
  /** A warning about a common mistake. */
  readonly caution?: string
  readonly copies: readonly {
    readonly text: string
    readonly label: string
    /** The file in which a text is written. */
    readonly file?: string
    readonly before?: string
  }[]
  readonly hint: string
}

/** The fields that the lines depend on; empty ones have their usual values. */
type Login = { readonly user: string; readonly secret: string; readonly port: string } & {
  /** The secret of the second user, who makes calls. */
  readonly callsSecret: string
  readonly isLocal: boolean
  readonly isOverTls: boolean
}

/** Returns the lines and commands for the configuration of a PBX. `callsSecret`: of the user who makes calls. */
export function pbxSetupOf({ product, protocol, host, port, user, secret }: PbxFields, callsSecret: string): PbxSetup {
  const { port: usualPort, isOverTls } = PBX_PROTOCOLS[protocol]
  return SETUPS[product]({
    user: user.trim() || 'hookswitch',
    // The stored secret is not shown, and must not be replaced by its mask.
    secret: secret === '***' ? '…' : secret,
    callsSecret,
    port: port.trim() || String(usualPort),
    isLocal: isLocal({ host }),
    isOverTls,
  })
}

const RELOAD_ASTERISK = {
  before: 'Then:',
  text: 'asterisk -rx "manager reload"',
  label: 'the command',
}
const EVENT_SOCKET_HINT =
  'The event socket has no TLS, and its password allows everything: reach it on the same machine, or through a VPN or an SSH tunnel.'

const SETUPS: Readonly<Record<PbxProduct, (login: Login) => PbxSetup>> = {
  freepbx: (login) => ({
    intro:
      'Add these lines at the end. The web interface of the PBX never overwrites this file; `deny` and `permit` are both needed, since it listens on all addresses.',
    copies: [
      {
        text: ['[general](+)', 'timestampevents = yes', ...tlsLines(login), '', ...userLines(login)].join('\n'),
        label: 'the lines for manager_custom.conf',
        file: '/etc/asterisk/manager_custom.conf',
      },
      ...callsLines(login),
      RELOAD_ASTERISK,
    ],
    hint: elsewhereHint(login),
  }),
  asterisk: (login) => ({
    intro: 'Write these lines; what the file has beside them stays.',
    copies: [
      {
        text: [
          '[general]',
          'enabled = yes',
          ...addressLines(login),
          'timestampevents = yes',
          '',
          ...userLines(login),
        ].join('\n'),
        label: 'the lines for manager.conf',
        file: '/etc/asterisk/manager.conf',
      },
      ...callsLines(login),
      RELOAD_ASTERISK,
    ],
    hint: elsewhereHint(login),
  }),
  fusionpbx: ({ isLocal }) => ({
    intro: 'These show both places in which it stands. The two must be equal:',
    caution:
      '**Do not change it here.** FusionPBX keeps it in two places: if they differ, its pages can no longer reach FreeSWITCH.',
    copies: [
      {
        text: 'sudo grep password /etc/freeswitch/autoload_configs/event_socket.conf.xml',
        label: 'the command for the first place',
      },
      {
        text: 'sudo grep event_socket.password /etc/fusionpbx/config.conf',
        label: 'the command for the second place',
      },
    ],
    hint: `${isLocal ? 'Only this machine reaches the event socket.' : EVENT_SOCKET_HINT} For click to call, add the parameter \`calls=yes\` under **Account and more**.`,
  }),
  freeswitch: ({ secret, port, isLocal }) => ({
    intro: 'Give these settings these values; the other lines of the file stay.',
    copies: [
      {
        text: eventSocketLines({ address: isLocal ? '127.0.0.1' : '0.0.0.0', port, password: secret }).join('\n'),
        label: 'the lines for event_socket.conf.xml',
        file: '/etc/freeswitch/autoload_configs/event_socket.conf.xml',
      },
      { ...RELOAD_ASTERISK, text: 'fs_cli -x "reload mod_event_socket"' },
    ],
    hint: EVENT_SOCKET_HINT,
  }),
}

const userLines = ({ user, secret, isLocal }: Login): string[] =>
  managerUserLines({ name: user, secret, from: isLocal ? '127.0.0.1' : 'ADDRESS' })

/** Click to call is a choice: its user is another one than the user who watches. */
const callsLines = ({ user, callsSecret, isLocal }: Login): PbxSetup['copies'] => {
  const name = `${user}-calls`
  const lines = callsUserLines({ name, secret: callsSecret, from: isLocal ? '127.0.0.1' : 'ADDRESS' })
  return [
    {
      before: 'Only for click to call: a second user, who reads nothing. Add it to the same file:',
      text: lines.join('\n'),
      label: 'the lines for click to call',
    },
    {
      before: 'And add this parameter under **User, secret, TLS, account**:',
      text: `calls=${name}:${callsSecret}`,
      label: 'the parameter for click to call',
    },
  ]
}

const tlsLines = ({ isOverTls, port }: Login): string[] =>
  isOverTls ? ['tlsenable = yes', `tlsbindaddr = 0.0.0.0:${port}`, 'tlscertfile = /etc/asterisk/keys/asterisk.pem'] : []

function addressLines(login: Login): string[] {
  if (login.isOverTls) return tlsLines(login)
  const isUsual = login.port === String(PBX_PROTOCOLS.ami.port)
  return [`bindaddr = ${login.isLocal ? '127.0.0.1' : '0.0.0.0'}`, ...(isUsual ? [] : [`port = ${login.port}`])]
}

function elsewhereHint({ user, isLocal }: Login): string {
  const hint = `The user \`${user}\` can only read. On another machine the events cross the network unencrypted unless you use TLS or a VPN.`
  return isLocal ? hint : `Replace \`ADDRESS\` by the IPv4 address of this service, as the PBX sees it. ${hint}`
}
