import { SETTINGS } from '../../src/app/settings.ts'

/** Returns the file of settings for systemd: every setting of `serve` in a comment, with its default. */
export function settingsFile(): string {
  const settings = Object.values(SETTINGS).filter(({ flag }) => !flag.startsWith('--data '))
  return [
    '# The settings of the service hookswitch. After a change: systemctl restart hookswitch',
    '# Values stand in single quotes, so that shells can read this file too. Several values are separated by spaces.',
    '',
    '# the folder of the store (hookswitch.db)',
    "HOOKSWITCH_DATA='/var/lib/hookswitch'",
    ...settings.flatMap((setting) => ['', `# ${setting.description}`, `#${variableOf(setting)}`]),
    '',
  ].join('\n')
}

/** Examples for settings without a default. */
const EXAMPLES: Readonly<Record<string, string>> = {
  '--pbx': 'ami://hookswitch:choose-a-long-one@127.0.0.1?name=office',
  '--allow-net': 'private',
  '--trust-proxy': '127.0.0.1',
  '--log-mask-numbers': 'true',
}

function variableOf(setting: (typeof SETTINGS)[keyof typeof SETTINGS]): string {
  const [flag = ''] = setting.flag.split(' ')
  const given = 'default' in setting && typeof setting.default === 'string' ? setting.default : (EXAMPLES[flag] ?? '')
  return `HOOKSWITCH_${flag.replace(/^--/, '').replaceAll('-', '_').toUpperCase()}='${given}'`
}
