import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { run } from './run-command.ts'

// Makes a signed apt and dnf repository of the packages in dist/release, in dist/repository: a static folder that any
// web server serves. The secret key (armored, without a passphrase) is in REPOSITORY_KEY; `--new-key` makes one, for a
// trial. REPOSITORY_URL is the address that the folder will have. Needs gpg, apt-ftparchive, rpmsign and createrepo_c.

const ROOT = resolve(import.meta.dir, '..')
const RELEASE = join(ROOT, 'dist/release')
const FOLDER = join(ROOT, 'dist/repository')
const ARCHITECTURES = ['amd64', 'arm64']
const REPOSITORY_KEY = process.env.REPOSITORY_KEY || undefined
const REPOSITORY_URL = process.env.REPOSITORY_URL || 'https://packages.example.com'

const packages = readdirSync(RELEASE)
const debs = packages.filter((name) => name.endsWith('.deb'))
const rpms = packages.filter((name) => name.endsWith('.rpm'))
if (debs.length === 0 || rpms.length === 0)
  throw new Error('there are no packages in dist/release: bun run release makes them')
if (REPOSITORY_KEY === undefined && !process.argv.includes('--new-key'))
  throw new Error('REPOSITORY_KEY is missing: give the secret key that signs, or --new-key for a trial')

rmSync(FOLDER, { recursive: true, force: true })
mkdirSync(FOLDER, { recursive: true })
const home = mkdtempSync(join(tmpdir(), 'hookswitch-gpg-'))
const env = { ...process.env, GNUPGHOME: home }
const gpg = (...args: string[]) => run(['gpg', '--batch', '--yes', '--pinentry-mode', 'loopback', ...args], FOLDER, env)
try {
  const key = await readKey()
  writeFileSync(join(FOLDER, 'hookswitch.asc'), await gpg('--armor', '--export', key))
  await makeApt(key)
  await makeDnf(key)
  console.log(`dist/repository: ${[...debs, ...rpms].length} packages, signed by ${key}`)
} finally {
  await run(['gpgconf', '--kill', 'all'], FOLDER, env).catch(() => '')
  rmSync(home, { recursive: true, force: true })
}

/** Imports or makes the secret key, and returns its fingerprint. */
async function readKey(): Promise<string> {
  if (REPOSITORY_KEY === undefined)
    await gpg(
      '--passphrase',
      '',
      '--quick-generate-key',
      'Hookswitch trial <trial@example.com>',
      'rsa3072',
      'sign',
      '7d',
    )
  else {
    const file = join(home, 'secret.asc')
    writeFileSync(file, REPOSITORY_KEY, { mode: 0o600 })
    await gpg('--import', file)
  }
  const listed = await gpg('--list-secret-keys', '--with-colons')
  const fingerprint = /^fpr:+([0-9A-F]{40}):/m.exec(listed)?.[1]
  if (fingerprint === undefined) throw new Error('REPOSITORY_KEY has no secret key')
  return fingerprint
}

async function makeApt(key: string): Promise<void> {
  const apt = join(FOLDER, 'apt')
  const pool = 'pool/main/h/hookswitch'
  mkdirSync(join(apt, pool), { recursive: true })
  for (const name of debs) copyFileSync(join(RELEASE, name), join(apt, pool, name))
  for (const architecture of ARCHITECTURES) {
    const folder = join(apt, 'dists/stable/main', `binary-${architecture}`)
    mkdirSync(folder, { recursive: true })
    const index = await run(['apt-ftparchive', '--arch', architecture, 'packages', pool], apt)
    writeFileSync(join(folder, 'Packages'), index)
    writeFileSync(join(folder, 'Packages.gz'), Bun.gzipSync(Buffer.from(index), { level: 9 }))
  }
  const about = Object.entries({
    Origin: 'Hookswitch',
    Label: 'Hookswitch',
    Suite: 'stable',
    Codename: 'stable',
    Components: 'main',
    Architectures: ARCHITECTURES.join(' '),
  }).flatMap(([name, value]) => ['-o', `APT::FTPArchive::Release::${name}=${value}`])
  const dist = join(apt, 'dists/stable')
  const release = await run(['apt-ftparchive', ...about, 'release', dist], apt)
  writeFileSync(join(dist, 'Release'), release)
  await gpg('--local-user', key, '--clearsign', '--output', join(dist, 'InRelease'), join(dist, 'Release'))
  await gpg(
    '--local-user',
    key,
    '--armor',
    '--detach-sign',
    '--output',
    join(dist, 'Release.gpg'),
    join(dist, 'Release'),
  )
  const source = ['Types: deb', `URIs: ${REPOSITORY_URL}/apt`, 'Suites: stable', 'Components: main', 'Signed-By:'].join(
    '\n',
  )
  // The key stands in the file, so that one file is all that a machine needs. An empty line is a dot in it.
  const armored = readFileSync(join(FOLDER, 'hookswitch.asc'), 'utf8').trim().split('\n')
  writeFileSync(
    join(FOLDER, 'hookswitch.sources'),
    `${source}\n${armored.map((line) => ` ${line || '.'}`).join('\n')}\n`,
  )
}

async function makeDnf(key: string): Promise<void> {
  const dnf = join(FOLDER, 'dnf')
  mkdirSync(dnf)
  for (const name of rpms) {
    const file = join(dnf, name)
    copyFileSync(join(RELEASE, name), file)
    const defined = { _gpg_name: key, _gpg_path: home, __gpg: Bun.which('gpg') ?? 'gpg' }
    const defines = Object.entries(defined).flatMap(([macro, value]) => ['--define', `${macro} ${value}`])
    await run(['rpmsign', ...defines, '--addsign', file], dnf, env)
  }
  // Enterprise Linux 7 reads gzip and SHA-256.
  await run(
    ['createrepo_c', '--checksum', 'sha256', '--general-compress-type', 'gz', '--no-database', '--quiet', dnf],
    dnf,
  )
  const index = join(dnf, 'repodata/repomd.xml')
  await gpg('--local-user', key, '--armor', '--detach-sign', '--output', `${index}.asc`, index)
  writeFileSync(
    join(FOLDER, 'hookswitch.repo'),
    [
      '[hookswitch]',
      'name=Hookswitch',
      `baseurl=${REPOSITORY_URL}/dnf`,
      'enabled=1',
      'gpgcheck=1',
      'repo_gpgcheck=1',
      `gpgkey=${REPOSITORY_URL}/hookswitch.asc`,
      '',
    ].join('\n'),
  )
}
