import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import manifest from '../package.json' with { type: 'json' }

// The Helm chart, linted and rendered by helm itself, where there is one.

const CHART = resolve(import.meta.dir, '../.ci/chart')
const HELM = Bun.which('helm')
// A helm that was built from its source does not know the version of Kubernetes that it is for.
const KUBERNETES = ['--kube-version', '1.31.0']

type Manifest = { kind: string; spec: Record<string, unknown>; stringData?: Record<string, string> }

function helm(...args: string[]) {
  const { exitCode, stdout, stderr } = Bun.spawnSync([HELM ?? 'helm', ...args], { stdout: 'pipe', stderr: 'pipe' })
  return { exitCode, stdout: stdout.toString(), stderr: stderr.toString() }
}

function render(...args: string[]): Map<string, Manifest> {
  const { exitCode, stdout, stderr } = helm('template', 'calls', CHART, ...KUBERNETES, ...args)
  if (exitCode !== 0) throw new Error(stderr)
  const documents = Bun.YAML.parse(stdout) as (Manifest | null)[]
  return new Map(documents.flatMap((one) => (one === null ? [] : [[one.kind, one] as const])))
}

test('the chart has the version of the program', () => {
  const chart = Bun.YAML.parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8'))
  expect(chart).toMatchObject({ version: manifest.version, appVersion: manifest.version })
})

describe.skipIf(HELM === null)('helm', () => {
  test('finds nothing wrong with the chart', () => {
    const { exitCode, stdout } = helm('lint', '--strict', CHART)
    expect({ exitCode, stdout }).toMatchObject({ exitCode: 0 })
  })

  test('renders one node with a volume', () => {
    const made = render('--set', 'pbxs={ami://a:b@192.0.2.1,esl://:c@192.0.2.2}')
    expect([...made.keys()].toSorted()).toEqual(['Secret', 'Service', 'StatefulSet'])
    const { spec } = made.get('StatefulSet') ?? {}
    expect(spec).toMatchObject({ replicas: 1, volumeClaimTemplates: [{ spec: { accessModes: ['ReadWriteOnce'] } }] })
    expect(made.get('Secret')?.stringData).toEqual({
      HOOKSWITCH_DATA: '/data',
      HOOKSWITCH_PBX: 'ami://a:b@192.0.2.1 esl://:c@192.0.2.2',
    })
  })

  test('renders several nodes on a database, behind an ingress', () => {
    const made = render(
      '--set',
      'replicas=3,database.url=postgres://u:p@db/calls,settings.HOOKSWITCH_ALLOW_NET=private',
      '--set',
      'ingress.enabled=true,ingress.host=calls.example.com,ingress.tlsSecret=tls',
      '--set',
      'firstUser.email=you@example.com,firstUser.password=secret',
    )
    expect([...made.keys()].toSorted()).toEqual(['Deployment', 'Ingress', 'PodDisruptionBudget', 'Secret', 'Service'])
    const { spec } = made.get('Deployment') ?? {}
    expect(spec).toMatchObject({
      replicas: 3,
      minReadySeconds: 5,
      template: {
        spec: {
          securityContext: { runAsNonRoot: true },
          containers: [
            {
              image: `hookswitch:${manifest.version}`,
              env: [
                { name: 'HOOKSWITCH_PUBLIC_URL', value: 'https://calls.example.com' },
                { name: 'HOOKSWITCH_ALLOW_NET', value: 'private' },
              ],
              readinessProbe: { httpGet: { path: '/health' } },
            },
          ],
        },
      },
    })
    expect(made.get('Secret')?.stringData).toMatchObject({
      HOOKSWITCH_DATABASE_URL: 'postgres://u:p@db/calls',
      HOOKSWITCH_DATA: '/data/node',
    })
  })

  test.each([
    ['settings.FOO=1', /FOO/],
    ['database.url=mysql://db/calls', /database\/url/],
    ['replica=2', /replica/],
    ['pbxs={sip://192.0.2.1}', /pbxs/],
    ['firstUser.email=you@example.com', /give firstUser.password/],
  ])('refuses the values %s', (values, named) => {
    const { exitCode, stderr } = helm('template', 'calls', CHART, ...KUBERNETES, '--set', values)
    expect(exitCode).not.toBe(0)
    expect(stderr).toMatch(named)
  })
})
