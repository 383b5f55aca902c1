import { managerUserLines } from '../../pbx/ami/manager-conf.ts'
import { eventSocketLines } from '../../pbx/esl/event-socket-conf.ts'

/** Returns the command by which this program was started, for lines that a user copies. */
export function ownName(argv: readonly string[] = process.argv, execPath = process.execPath): string {
  if (argv[1]?.startsWith('/$bunfs/') || argv[1] === undefined) return 'hookswitch'
  return execPath.includes('/_npx/') ? 'npx -y bun@1.4.5 src/main.ts' : 'bun src/main.ts'
}

const SECRET = 'choose-a-long-one'

/** Returns the instructions for connecting a real PBX. */
export const nextSteps = (name: string): string[] => [
  'Next: your own PBX',
  '',
  '  In the browser: run these two, and log in at http://127.0.0.1:8080. The page has the lines for your PBX, and checks them.',
  `    ${name} user add --admin --email you@example.com --name You`,
  `    ${name} serve`,
  '',
  '  Without it:',
  '',
  '  Asterisk: add to /etc/asterisk/manager.conf, then: asterisk -rx "manager reload"',
  ...managerUserLines({ name: 'hookswitch', secret: SECRET, from: '127.0.0.1' }).map((line) => `    ${line}`),
  '  and in its [general]: enabled = yes, bindaddr = 127.0.0.1, timestampevents = yes',
  '',
  '  FreeSWITCH: in autoload_configs/event_socket.conf.xml, then: fs_cli -x "reload mod_event_socket"',
  ...eventSocketLines({ address: '127.0.0.1', port: '8021', password: SECRET }).map((line) => `    ${line}`),
  '',
  "  Then, where Hookswitch runs (FreeSWITCH: 'esl://:choose-a-long-one@127.0.0.1?name=office'):",
  "    (umask 077; echo 'ami://hookswitch:choose-a-long-one@127.0.0.1?name=office' > pbx.url)",
  '    export HOOKSWITCH_PBX_FILE=pbx.url',
  `    ${name} pbx check`,
  `    ${name} pbx add`,
  '  README.md has the details.',
]
