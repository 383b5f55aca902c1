import { describe, expect, test } from 'bun:test'
import { CommanderError } from 'commander'
import { type Config, prepareEnvironment, readConfig } from '../../src/app/config.ts'
import { DEFAULTS, type GivenSettings } from '../../src/app/settings.ts'

const flags: GivenSettings = {
  listen: '127.0.0.1:8080',
  data: './data',
  pbx: [],
  allowNet: [],
  trustProxy: [],
  retrySchedule: '5s,30s',
  retention: '30d',
  retentionFailed: '90d',
  retentionCalls: '90d',
  alertTrunk: '1m',
  host: [],
  frameAncestors: [],
  recordingsFrom: [],
  recordingLink: '7d',
  recordingMax: '512MB',
  maxCalls: '20000',
  backupEvery: '24h',
  backupKeep: '14',
  logLevel: 'info',
}

const pbx = { account: 'default', trunks: [], extensions: [], variables: [] }
const asterisk = { ...pbx, protocol: 'ami' as const, name: 'h:5038', host: 'h', port: 5038, user: 'u', secret: 's' }

test.each<[string, Partial<GivenSettings>, { [Name in keyof Config]?: unknown }]>([
  ['an address', { listen: '0.0.0.0:0' }, { listen: { host: '0.0.0.0', port: 0 } }],
  ['an IPv6 address', { listen: '[::1]:80' }, { listen: { host: '::1', port: 80 } }],
  ['durations', { retention: '1h' }, { retentionMs: 3_600_000 }],
  [
    'the longest durations',
    { retrySchedule: Array(100).fill('365d').join(), retention: '36500d', backupEvery: '365d', alertTrunk: '30d' },
    { retentionMs: 3_153_600_000_000, backupEveryMs: 31_536_000_000, alertTrunkMs: 2_592_000_000 },
  ],
  ['a schedule', { retrySchedule: '5s, 2m 1h' }, { retryScheduleMs: [5_000, 120_000, 3_600_000] }],
  ['networks', { allowNet: ['private', '10.0.0.0/8', '::1'] }, { allowNets: ['private', '10.0.0.0/8', '::1'] }],
  [
    'sites that may show the pop page',
    {
      frameAncestors: [
        'https://crm.example.com',
        'https://CRM.example.com:8443',
        'http://localhost:3000',
        'https://büro.example',
      ],
    },
    {
      frameAncestors: [
        'https://crm.example.com',
        'https://crm.example.com:8443',
        'http://localhost:3000',
        'https://xn--bro-hoa.example',
      ],
    },
  ],
  ['names', { host: ['hooks.internal', 'BÜRO'] }, { hosts: ['hooks.internal', 'xn--bro-hoa'] }],
  [
    'places of recordings',
    { recordingsFrom: ['/mnt/monitor/', 'https://pbx.example/monitor'] },
    { recordingsFrom: ['/mnt/monitor', 'https://pbx.example/monitor/'] },
  ],
  ['a proxy by its address alone', { trustProxy: ['10.0.0.1', '::1'] }, { trustProxies: ['10.0.0.1/32', '::1/128'] }],
  ['a proxy by a short form', { trustProxy: ['10/8', '172.16/12'] }, { trustProxies: ['10.0.0.0/8', '172.16.0.0/12'] }],
  [
    'an Asterisk, percent-encoded',
    { pbx: ['ami://user%40x:p%3A%2Fw@pbx.example'] },
    {
      pbxs: [
        {
          ...pbx,
          protocol: 'ami',
          name: 'pbx.example:5038',
          host: 'pbx.example',
          port: 5038,
          user: 'user@x',
          secret: 'p:/w',
        },
      ],
    },
  ],
  [
    'an Asterisk over TLS, with all its parameters',
    {
      pbx: [
        'amis://u:s@[::1]:5040?name=office&account=acme&trunks=PJSIP/t*,DAHDI/g1&extensions=1%3F%3F&variables=A,B&country=uz&ca=/c+a.pem',
      ],
    },
    {
      pbxs: [
        {
          protocol: 'amis',
          name: 'office',
          account: 'acme',
          host: '::1',
          port: 5040,
          user: 'u',
          secret: 's',
          trunks: ['PJSIP/t*', 'DAHDI/g1'],
          extensions: ['1??'],
          variables: ['A', 'B'],
          country: 'UZ',
          caFile: '/c+a.pem',
        },
      ],
    },
  ],
  [
    'a PBX with a folder of recordings',
    { pbx: ['ami://u:s@h?recordings=/mnt/monitor&recordings_root=/var/spool/asterisk/monitor'] },
    { pbxs: [{ ...asterisk, recordings: { location: '/mnt/monitor', root: '/var/spool/asterisk/monitor' } }] },
  ],
  [
    'a PBX of several accounts, by a channel variable, and the account of the calls that show none',
    { pbx: ['ami://u:s@h?tenants=variable:TENANT_ID&account=rest'] },
    { pbxs: [{ ...asterisk, account: 'rest', tenants: { by: 'variable', variable: 'TENANT_ID' } }] },
  ],
  [
    'a PBX of several accounts, whose calls are nobody’s when they show none',
    { pbx: ['esl://:s@h:5038?tenants=domain'] },
    { pbxs: [{ ...asterisk, protocol: 'esl', user: '', account: null, tenants: { by: 'domain', variable: null } }] },
  ],
  [
    'a PBX with recordings on a web server, with a user',
    { pbx: ['ami://u:s@h?recordings=https://me:a%2540b@pbx.example/monitor'] },
    {
      pbxs: [
        {
          ...asterisk,
          recordings: {
            location: 'https://pbx.example/monitor/',
            root: null,
            authorization: `Basic ${btoa('me:a@b')}`,
          },
        },
      ],
    },
  ],
  [
    'a PBX with recordings on a web server, with a token, and the settings of recordings',
    {
      pbx: ['ami://u:s@h?recordings=http://pbx.example/&recordings_token=t+1'],
      publicUrl: 'https://calls.example.com',
      recordingLink: '1h',
      recordingMax: '2gb',
      maxCalls: '500',
    },
    {
      pbxs: [{ ...asterisk, recordings: { location: 'http://pbx.example/', root: null, authorization: 'Bearer t+1' } }],
      publicUrl: 'https://calls.example.com',
      recordingLinkMs: 3_600_000,
      recordingMaxBytes: 2_000_000_000,
      maxCalls: 500,
    },
  ],
  [
    'a FreeSWITCH',
    { pbx: ['esl://:ClueCon@10.0.0.5'] },
    {
      pbxs: [
        { ...pbx, protocol: 'esl', name: '10.0.0.5:8021', host: '10.0.0.5', port: 8021, user: '', secret: 'ClueCon' },
      ],
    },
  ],
])('%s is read', (_, given, expected) => {
  const config = readConfig({ ...flags, ...given }, {}, () => true)
  expect(config).toMatchObject(expected)
  expect(Object.isFrozen(config) && Object.isFrozen(config.listen)).toBe(true)
})

test('the defaults alone are settings', () => {
  expect(readConfig(DEFAULTS, {}).listen).toEqual({ host: '127.0.0.1', port: 8080 })
})

describe('a wrong setting is named, with what to do', () => {
  test.each<[string, Partial<GivenSettings>, RegExp]>([
    ['no port', { listen: '127.0.0.1' }, /--listen \(HOOKSWITCH_LISTEN\).*127\.0\.0\.1:8080/],
    ['tenants of no kind', { pbx: ['esl://:s@h?tenants=domains'] }, /tenants=domains: use tenants=domain, /],
    ['tenants by no variable', { pbx: ['esl://:s@h?tenants=variable'] }, /use .*tenants=variable:NAME/],
    [
      'domains of an Asterisk',
      { pbx: ['ami://u:s@h?tenants=domain'] },
      /only FreeSWITCH knows: use tenants=accountcode/,
    ],
    ['a port too high', { listen: '127.0.0.1:65536' }, /--listen/],
    ['no duration', { retention: 'soon' }, /--retention \(HOOKSWITCH_RETENTION\).*"soon".*30d/],
    ['a duration of nothing', { retentionCalls: '0s' }, /--retention-calls/],
    ...[
      ['retrySchedule', '99999999d', '1ms to 365d'],
      ['retrySchedule', '0s', '1ms to 365d'],
      ['retrySchedule', '366d', '1ms to 365d'],
      ['retention', '36501d', '1s to 36500d'],
      ['retention', '999ms', '1s to 36500d'],
      ['retentionFailed', '999999999d', '1s to 36500d'],
      ['retentionCalls', '1000000h', '1s to 36500d'],
      ['recordingLink', '999999999d', '1s to 36500d'],
      ['retentionRecordings', '999999999d', '1s to 36500d'],
      ['backupEvery', '366d', '1s to 365d'],
      ['alertTrunk', '31d', '1s to 30d'],
    ].map(([name = '', given = '', bounds = '']): [string, Partial<GivenSettings>, RegExp] => [
      `a duration out of its bounds: ${name} ${given}`,
      { [name]: given },
      new RegExp(
        `^--[a-z-]+ \\(HOOKSWITCH_[A-Z_]+\\) has "${given}": give a duration from ${bounds}, in ms, s, m, h or d`,
      ),
    ]),
    [
      'a schedule of 101 pauses',
      { retrySchedule: '1d,'.repeat(100).concat('1d') },
      /--retry-schedule .* has 101 pauses: give at most 100/,
    ],
    ['an empty schedule', { retrySchedule: ' , ' }, /--retry-schedule.*durations like/],
    ['a schedule with a gap', { retrySchedule: '5s,,1m' }, /--retry-schedule \(HOOKSWITCH_RETRY_SCHEDULE\) has ""/],
    ['no network', { allowNet: ['intranet'] }, /--allow-net \(HOOKSWITCH_ALLOW_NET\).*private, loopback/],
    ['an address of three parts', { listen: '10.1.2:8080' }, /--listen.*127\.0\.0\.1:8080/],
    [
      'a PBX at an address of three parts',
      { pbx: ['ami://u:s@10.1.2'] },
      /host 10\.1\.2: write all four decimal parts/,
    ],
    ['a PBX at an octal address', { pbx: ['ami://u:s@010.0.0.1'] }, /host 010\.0\.0\.1: write all four decimal/],
    ['no network to trust', { trustProxy: ['proxy.example'] }, /--trust-proxy/],
    ['a public URL too long for links', { publicUrl: `https://${'x'.repeat(300)}/` }, /--public-url.*300/],
    ['a public URL without http', { publicUrl: 'calls.example.com' }, /--public-url/],
    ...['https://u:p@x.example/', 'https://x.example/?a=b', 'https://x.example/#a'].map(
      (publicUrl): [string, Partial<GivenSettings>, RegExp] => [
        `a public URL that links cannot begin with: ${publicUrl}`,
        { publicUrl },
        /--public-url \(HOOKSWITCH_PUBLIC_URL\) may have no user, query or #/,
      ],
    ),
    ['a pattern of names', { host: ['*.example.com'] }, /--host.*"\*\.example\.com": give a host name/],
    ['a name with a port', { host: ['hooks.internal:8080'] }, /--host \(HOOKSWITCH_HOST\).*without a port/],
    ...[
      '*',
      'https://*.example.com',
      'https://crm.example.com/',
      'https://crm.example.com/app',
      'http://crm.example.com',
      'http://localhost.example.com',
      'crm.example.com',
      "'self'",
      "https://crm.example.com' 'unsafe-inline",
      'https://crm.example.com; script-src *',
      'https://a.example https://b.example',
      'https://a.example,https://b.example',
      'https://user@crm.example.com',
      'https://crm.example.com?x',
      'https://[::1]',
      'data:',
      '',
    ].map((origin): [string, Partial<GivenSettings>, RegExp] => [
      `${JSON.stringify(origin)} as a site that may show the pop page`,
      { frameAncestors: [origin] },
      /--frame-ancestors \(HOOKSWITCH_FRAME_ANCESTORS\) has ".*": give one site like https:\/\/crm/,
    ]),
    ['a URL in place of a name', { host: ['http://hooks.internal'] }, /--host/],
    ['links that are never valid', { recordingLink: '0s' }, /--recording-link/],
    [
      'recordings from an unknown place',
      { recordingsFrom: ['ftp://host/'] },
      /--recordings-from \(HOOKSWITCH_RECORDINGS_FROM\)/,
    ],
    ['recordings from everywhere', { recordingsFrom: ['/var/..'] }, /--recordings-from.*name the folder/],
    ['recordings with a password', { recordingsFrom: ['http://u:p@host/'] }, /--recordings-from/],
    ['copies at an unknown place', { recordingsCopy: 'ftp://host/' }, /--recordings-copy.*s3:/],
    ['copies in a bucket with a short name', { recordingsCopy: 's3://ab/x' }, /--recordings-copy .*3 to 63 letters/],
    ['copies in a bucket without a name', { recordingsCopy: 's3://' }, /--recordings-copy/],
    ['copies kept for no time', { retentionRecordings: '0s' }, /--retention-recordings/],
    ['a size without a unit', { recordingMax: '512' }, /--recording-max.*512MB/],
    ['no calls', { maxCalls: '0' }, /--max-calls.*from 1 to 100000/],
    ['too many calls', { maxCalls: '100001' }, /--max-calls/],
    ['a size of nothing', { recordingMax: '0MB' }, /--recording-max/],
    [
      'recordings in a relative folder',
      { pbx: ['ami://u:s@h?recordings=monitor'] },
      /recordings= without a whole path/,
    ],
    ['a root of recordings without them', { pbx: ['ami://u:s@h?recordings_root=/a'] }, /without recordings/],
    ['a relative root of recordings', { pbx: ['ami://u:s@h?recordings=/a&recordings_root=b'] }, /recordings_root=b/],
    ['a token for a folder', { pbx: ['ami://u:s@h?recordings=/a&recordings_token=:s@'] }, /recordings_token, which/],
    [
      'a token beside a user',
      { pbx: ['ami://u:s@h?recordings=https://u:s@x/&recordings_token=t'] },
      /recordings_token and a user/,
    ],
    ['recordings with a query', { pbx: ['ami://u:s@h?recordings=https://x/%3Fa'] }, /recordings= with \?/],
    ['no URL of a proxy', { proxy: 'proxy:3128' }, /--proxy/],
    ['an unknown level', { logLevel: 'loud' }, /--log-level.*one of trace, .*info/],
    ['an empty token', { metricsToken: '' }, /--metrics-token.*at least 16 characters/],
    ['a token of 15 characters', { metricsToken: 'fifteen letters' }, /--metrics-token.*16 characters.*openssl/],
    ['certificates that cannot be read', { pbx: ['amis://u:s@h?ca=/no/such.pem'] }, /number 1.*ca=\/no\/such.pem/],
    ['another scheme', { pbx: ['http://u:s@h'] }, /--pbx.*number 1.*ami:\/\//],
    ['no user', { pbx: ['ami://:s@h'] }, /has no user/],
    ['no secret', { pbx: ['esl://h'] }, /no secret/],
    ['a percent sign as such', { pbx: ['ami://u:100%@h'] }, /%25/],
    ['an unknown parameter', { pbx: ['ami://u:s@h?nmae=x'] }, /nmae/],
    ['a country of three letters', { pbx: ['ami://u:s@h?country=UZB'] }, /unknown country UZB/],
    ['an unknown country', { pbx: ['ami://u:s@h?country=XX'] }, /unknown country XX.*country=UZ/],
    ['two equal names', { pbx: ['ami://u:s@h', 'ami://v:t@h:5038'] }, /number 2.*h:5038.*\?name=/],
  ])('%s', (_, given, message) => {
    const read = () => readConfig({ ...flags, ...given }, {})
    expect(read).toThrow(CommanderError)
    expect(read).toThrow(message)
    expect(read).not.toThrow(/\n|100%@|:s@/)
  })

  test('half a first user', () => {
    expect(() => readConfig(flags, { HOOKSWITCH_USER_EMAIL: 'a@example.com' })).toThrow(/belong together/)
  })
})

describe.each(['allowNet', 'trustProxy'])(
  'a network that is not what it seems ends the start with what to write: %s',
  (setting) => {
    test.each([
      ['10.1.2', 'write all four parts, as in 10.1.2.0/24'],
      ['10.1/16', 'write all four parts, as in 10.1.0.0/16'],
      ['10', 'write all four parts, as in 10.0.0.0/8'],
      ['192.168.', 'write all four parts, as in 192.168.0.0/16'],
      ['010.0.0.0/8', 'with four decimal parts that do not begin with 0'],
      ['0xa.0.0.0/8', 'with four decimal parts that do not begin with 0'],
      ['167772160/8', 'with four decimal parts that do not begin with 0'],
      ['10.0.0.0/33', 'give a network like 10.0.0.0/8'],
      ['10.0.0.0/', 'give a network like 10.0.0.0/8'],
      ['10.1.2.3/8', 'write 10.0.0.0/8 for this network, or 10.1.2.3 for the address alone'],
      ['fd00::7/64', 'write fd00::/64 for this network, or fd00::7 for the address alone'],
      ['0.0.0.10/8', 'write 0.0.0.0/8 for this network, or 0.0.0.10 for the address alone'],
      ['fe80::1%eth0', 'give a network like 10.0.0.0/8'],
      ...[
        '0.0.0.0/0',
        '0.0.0.0/1',
        '126.0.0.0/7',
        '::/0',
        '::/96',
        '::/127',
        '::ffff:0:0/96',
        '64:ff9b::/96',
        '2002::/16',
      ].map((net): [string, string] => [
        net,
        'contains this machine itself: name the networks that are meant one by one',
      ]),
    ])('%s', (net, advice) => {
      const read = () => readConfig({ ...flags, [setting]: ['192.168.0.0/16', net] }, {})
      expect(read).toThrow(CommanderError)
      expect(read).toThrow(`) has "${net}": `)
      expect(read).toThrow(advice)
    })
  },
)

describe('the environment', () => {
  test('a _FILE variable names a file with the value, without its last line break; an empty variable counts as unset', () => {
    const env = { HOOKSWITCH_PBX_FILE: '/run/pbx', HOOKSWITCH_LISTEN: '', PATH_FILE: 'x', HOOKSWITCH_DATA: '/d' }
    prepareEnvironment(env, () => 'ami://u:s@h\n')
    expect<Record<string, string>>(env).toEqual({
      HOOKSWITCH_PBX_FILE: '/run/pbx',
      HOOKSWITCH_PBX: 'ami://u:s@h',
      PATH_FILE: 'x',
      HOOKSWITCH_DATA: '/d',
    })
  })

  test('a file that cannot be read is named', () => {
    expect(() => prepareEnvironment({ HOOKSWITCH_PROXY_FILE: '/none' })).toThrow(/HOOKSWITCH_PROXY_FILE.*\/none/)
  })
})
