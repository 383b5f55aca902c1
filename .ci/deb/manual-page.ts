import type { Command } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { SETTINGS } from '../../src/app/settings.ts'
import { commandLine } from '../../src/cli/commands/commands.ts'

/** Returns the manual page hookswitch(1), made from the command line and its settings. */
export function manualPage(releasedMs: number): string {
  const program = commandLine(async () => {})
  const day = new Date(releasedMs).toISOString().slice(0, 10)
  return [
    `.TH HOOKSWITCH 1 "${day}" "hookswitch ${manifest.version}" "User Commands"`,
    '.SH NAME',
    `hookswitch \\- ${escaped(manifest.description)}`,
    '.SH SYNOPSIS',
    '.B hookswitch',
    '.I command',
    '[\\fIoptions\\fR]',
    '.SH DESCRIPTION',
    escaped(
      'Watches the calls of PBXs and sends a signed HTTP POST for each call event to the webhooks of an account.',
    ),
    escaped('Each command has --help, which describes its options.'),
    '.SH COMMANDS',
    ...leavesOf(program, []).flatMap(({ names, command }) => [
      '.TP',
      `\\fB${escaped(names.join(' '))}\\fR ${escaped(usageOf(command))}`.trimEnd(),
      escaped(command.description()),
    ]),
    '.SH SETTINGS',
    escaped(
      'The options of serve and doctor. Each is also read from the environment: HOOKSWITCH_ALLOW_NET for --allow-net.',
    ),
    ...Object.values(SETTINGS).flatMap((setting) => [
      '.TP',
      `\\fB${escaped(setting.flag)}\\fR`,
      escaped(`${setting.description}${defaultOf(setting)}`),
    ]),
    '.SH FILES',
    '.TP',
    '\\fI/etc/hookswitch.env\\fR',
    'the settings of the service, as variables',
    '.TP',
    '\\fI/var/lib/hookswitch\\fR',
    'the store of the service',
    '.SH EXIT STATUS',
    escaped('0 after success, 1 after a failure, 2 when an option or setting is wrong.'),
    '',
  ].join('\n')
}

type Leaf = { readonly names: readonly string[]; readonly command: Command }

function leavesOf(command: Command, before: readonly string[]): Leaf[] {
  return command.commands.flatMap((child) => {
    const names = [...before, child.name()]
    return child.commands.length > 0 ? leavesOf(child, names) : [{ names, command: child }]
  })
}

const usageOf = (command: Command): string => command.usage().replace(/^\[options\] ?/, '')

function defaultOf(setting: (typeof SETTINGS)[keyof typeof SETTINGS]): string {
  return 'default' in setting && typeof setting.default === 'string' ? ` (default: ${setting.default})` : ''
}

/** Escapes what means something to roff: a backslash, a hyphen that is to be copied, a dot or quote at the start. */
const escaped = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('…', '...')
    .replace(/^([.'])/, '\\&$1')
