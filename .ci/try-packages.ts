import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { freePort, isOk } from './ports.ts'
import { run } from './run-command.ts'

// Tries the packages of dist/repository as a new user would, in roots of their own: installs them from the signed
// repository, upgrades while calls are up and a receiver is away, and removes them. Needs root, debootstrap and a mirror
// of Debian (DEBIAN_MIRROR), or a root that it may copy (DEBIAN_ROOT). The RPM package is tried in a root of Debian with rpm, because there its scripts run too:
// `dnf` checks the signatures, and `rpm` installs without the dependencies, which are packages of Enterprise Linux.

const ROOT = resolve(import.meta.dir, '..')
const REPOSITORY = join(ROOT, 'dist/repository')
const RECORDING = join(ROOT, 'src/cli/demo/ring-group.ami')
const { DEBIAN_MIRROR: MIRROR = 'http://deb.debian.org/debian', DEBIAN_ROOT } = process.env
const PASSWORD = 'a password for the trial'

if (process.getuid?.() !== 0) throw new Error('this needs root: it makes a root of Debian with debootstrap')
const top = mkdtempSync(join(tmpdir(), 'hookswitch-packages-'))
const root = join(top, 'root')
const stoppers: (() => unknown)[] = []
async function tryDebian(): Promise<void> {
  const served = serveRepository()
  const sources = readFileSync(join(REPOSITORY, 'hookswitch.sources'), 'utf8')
  writeFileSync(
    join(root, 'etc/apt/sources.list.d/hookswitch.sources'),
    sources.replace(/^URIs: .*/m, `URIs: ${served.url}/apt`),
  )
  await inRoot('apt-get', 'update', '--quiet')
  console.log((await inRoot('apt-get', 'install', '--yes', '--quiet', 'hookswitch')).split('\n').slice(-9).join('\n'))

  const receiver = startReceiver()
  const pbx = await startReplay()
  const port = await freePort()
  const settings = join(root, 'etc/hookswitch.env')
  const own = [`HOOKSWITCH_LISTEN='127.0.0.1:${port}'`, `HOOKSWITCH_PBX='ami://any:any@127.0.0.1:${pbx}?name=office'`]
  writeFileSync(settings, `${readFileSync(settings, 'utf8')}${own.join('\n')}\nHOOKSWITCH_ALLOW_NET='loopback'\n`)
  await asService(`echo '${PASSWORD}' | hookswitch user add --admin --email you@example.com --name You`)
  await asService(`hookswitch webhook add http://127.0.0.1:${receiver.port}/ --allow-net loopback`)

  const first = startService()
  await until('the service is healthy', () => isOk(`http://127.0.0.1:${port}/health`))
  await until('a call is up, and one has ended', () => receiver.has('call_ended') && receiver.open() > 0)
  receiver.isAway = true
  await until('an event waits for its receiver', () => receiver.refused > 0)
  await upgradeDebian()
  await first.stop()
  const second = startService()
  await until('the upgraded service is healthy', () => isOk(`http://127.0.0.1:${port}/health`))
  receiver.isAway = false
  const kept = readFileSync(settings, 'utf8').includes(own[0] ?? '')
  if (!kept) throw new Error('the upgrade changed /etc/hookswitch.env')
  const before = receiver.calls()
  await until('every call that was up has its end', () => before.every((id) => receiver.ended(id)), 120)
  receiver.check()
  console.log(
    `upgraded with calls up: ${receiver.count()} events of ${receiver.calls().length} calls, none lost, all in order`,
  )
  await second.stop()

  await inRoot('apt-get', 'remove', '--yes', '--quiet', 'hookswitch')
  for (const path of ['var/lib/hookswitch/hookswitch.db', 'etc/hookswitch.env'])
    if (!existsSync(join(root, path))) throw new Error(`remove has deleted /${path}`)
  await inRoot('apt-get', 'purge', '--yes', '--quiet', 'hookswitch')
  gone('var/lib/hookswitch', 'etc/hookswitch.env', 'usr/bin/hookswitch', 'usr/lib/systemd/system/hookswitch.service')
  await served.spoil('apt/dists/stable/main/binary-amd64/Packages', 'a changed index of apt', async () => {
    // What it knows already it would not ask for again.
    rmSync(join(root, 'var/lib/apt/lists'), { recursive: true })
    await inRoot(
      'apt-get',
      'update',
      '--quiet',
      '-o',
      'Acquire::GzipIndexes=false',
      '-o',
      'APT::Update::Error-Mode=any',
    )
  })
  console.log('Debian: installed, upgraded, removed, purged; a changed index is refused')
}

/** Installs the same package with a higher version, as the next release will be. */
async function upgradeDebian(): Promise<void> {
  const pool = join(REPOSITORY, 'apt/pool/main/h/hookswitch')
  const [name = ''] = (await run(['sh', '-c', 'ls *_amd64.deb'], pool)).trim().split('\n')
  const tree = join(top, 'next')
  await run(['dpkg-deb', '--raw-extract', join(pool, name), tree], top)
  const control = join(tree, 'DEBIAN/control')
  writeFileSync(control, readFileSync(control, 'utf8').replace(/^Version: .*/m, 'Version: 999.0.0'))
  await run(['dpkg-deb', '--root-owner-group', '-Zxz', '-z0', '--build', tree, join(root, 'tmp/next.deb')], top)
  await inRoot('apt-get', 'install', '--yes', '--quiet', '/tmp/next.deb')
}

async function tryRpm(): Promise<void> {
  const served = serveRepository()
  const repo = readFileSync(join(REPOSITORY, 'hookswitch.repo'), 'utf8').replaceAll(/https?:\/\/[^/\n]+/g, served.url)
  mkdirSync(join(root, 'etc/yum.repos.d'), { recursive: true })
  writeFileSync(join(root, 'etc/yum.repos.d/hookswitch.repo'), repo)
  writeFileSync(join(root, 'tmp/hookswitch.asc'), readFileSync(join(REPOSITORY, 'hookswitch.asc')))
  await inRoot('dnf', '--assumeyes', '--quiet', 'makecache')
  await inRoot('dnf', '--assumeyes', '--quiet', 'download', '--destdir', '/tmp', 'hookswitch')
  await inRoot('rpmkeys', '--import', '/tmp/hookswitch.asc')
  console.log(
    await inRoot(
      'sh',
      '-c',
      'rpmkeys --checksig /tmp/hookswitch-*.x86_64.rpm && rpm --query --package --requires /tmp/hookswitch-*.x86_64.rpm',
    ),
  )
  const rpm = (...args: string[]) => inRoot('sh', '-c', `rpm ${args.join(' ')} --nodeps`)
  console.log(await rpm('--install', '--ignorearch', '/tmp/hookswitch-*.x86_64.rpm'))
  await asService(`echo '${PASSWORD}' | hookswitch user add --admin --email you@example.com --name You`)
  const port = await freePort()
  const settings = join(root, 'etc/hookswitch.env')
  writeFileSync(settings, `${readFileSync(settings, 'utf8')}HOOKSWITCH_LISTEN='127.0.0.1:${port}'\n`)
  const service = startService()
  await until('the service of the RPM package is healthy', () => isOk(`http://127.0.0.1:${port}/health`))
  await service.stop()
  await rpm('--upgrade', '--ignorearch', '--replacepkgs', '/tmp/hookswitch-*.x86_64.rpm')
  if (!readFileSync(settings, 'utf8').includes(String(port))) throw new Error('the upgrade changed /etc/hookswitch.env')
  await rpm('--erase', 'hookswitch')
  gone('usr/bin/hookswitch', 'usr/lib/systemd/system/hookswitch.service')
  if (!existsSync(join(root, 'var/lib/hookswitch/hookswitch.db'))) throw new Error('the removal has deleted the store')
  await served.spoil('dnf/repodata/repomd.xml', 'a changed index of dnf', async () => {
    await inRoot('dnf', 'clean', 'all')
    await inRoot('dnf', '--assumeyes', '--quiet', '--setopt=hookswitch.skip_if_unavailable=0', 'makecache')
  })
  console.log('RPM: signatures checked, installed, upgraded, removed; a changed index is refused')
}

function gone(...paths: string[]): void {
  for (const path of paths) if (existsSync(join(root, path))) throw new Error(`/${path} is left`)
}

const inRoot = (...command: string[]): Promise<string> =>
  run(['chroot', root, ...command], top, {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    DEBIAN_FRONTEND: 'noninteractive',
    LC_ALL: 'C',
  })

/** Runs a line as the user of the service, with its settings, as the guide says. */
const asService = (line: string): Promise<string> =>
  inRoot('runuser', '-u', 'hookswitch', '--', 'sh', '-c', `set -a; . /etc/hookswitch.env; ${line}`)

/** Starts what the unit of systemd starts. */
function startService() {
  const child = Bun.spawn(
    [
      'chroot',
      root,
      'runuser',
      '-u',
      'hookswitch',
      '--',
      'sh',
      '-c',
      'set -a; . /etc/hookswitch.env; exec hookswitch serve',
    ],
    { stdout: 'ignore', stderr: Bun.file(join(top, 'serve.log')), env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin' } },
  )
  const stop = async () => {
    // runuser passes SIGTERM on.
    child.kill()
    await child.exited
  }
  stoppers.push(stop)
  return { stop }
}

async function startReplay(): Promise<number> {
  const port = await freePort()
  const command = ['bun', 'src/main.ts', 'pbx', 'replay', RECORDING, '--loop', '--listen', `127.0.0.1:${port}`]
  const child = Bun.spawn(command, { cwd: ROOT, stdout: 'ignore', stderr: 'ignore' })
  stoppers.push(async () => {
    child.kill()
    await child.exited
  })
  return port
}

/** Serves the repository. `spoil` changes a byte of a file and expects that the work is refused then. */
function serveRepository() {
  const folder = mkdtempSync(join(top, 'served-'))
  cpSync(REPOSITORY, folder, { recursive: true })
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      const file = Bun.file(join(folder, decodeURIComponent(new URL(request.url).pathname)))
      return (await file.exists()) ? new Response(file) : new Response('', { status: 404 })
    },
  })
  stoppers.push(() => server.stop(true))
  return {
    url: `http://127.0.0.1:${server.port}`,
    async spoil(path: string, what: string, work: () => Promise<void>) {
      for (const name of [path, `${path}.gz`]) {
        const file = join(folder, name)
        if (existsSync(file)) writeFileSync(file, Buffer.concat([readFileSync(file), Buffer.from('\n')]))
      }
      const refused = await work().then(
        () => false,
        () => true,
      )
      if (!refused) throw new Error(`${what} was accepted`)
    },
  }
}

/** A receiver that checks what the contract promises: each call's events once or again, without a gap, in order. */
function startReceiver() {
  const events = new Map<string, { name: string; sequence: number }[]>()
  const state = { isAway: false, refused: 0 }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      if (state.isAway) {
        state.refused += 1
        return new Response('', { status: 503 })
      }
      const { data } = (await request.json()) as {
        data: { name: string; call: { id: string; sequence?: number }; sequence: number }
      }
      const { id } = data.call
      events.set(id, [...(events.get(id) ?? []), { name: data.name, sequence: data.sequence }])
      return new Response('')
    },
  })
  stoppers.push(() => server.stop(true))
  const all = () => [...events.values()].flat()
  const ended = (id: string) => (events.get(id) ?? []).some(({ name }) => name === 'call_ended')
  return Object.assign(state, {
    port: server.port,
    has: (name: string) => all().some((event) => event.name === name),
    open: () => [...events.keys()].filter((id) => !ended(id)).length,
    calls: () => [...events.keys()],
    count: () => all().length,
    ended,
    check() {
      for (const [id, list] of events) {
        const first = list.filter(({ sequence }, at) => list.findIndex((one) => one.sequence === sequence) === at)
        first.forEach(({ sequence }, at) => {
          if (sequence !== at + 1) throw new Error(`call ${id}: event ${at + 1} has the sequence ${sequence}`)
        })
      }
    },
  })
}

async function until(what: string, holds: () => boolean | Promise<boolean>, seconds = 60): Promise<void> {
  const end = Date.now() + seconds * 1_000
  while (!(await holds())) {
    if (Date.now() > end) {
      const log = join(top, 'serve.log')
      throw new Error(`not within ${seconds} s: ${what}\n${existsSync(log) ? readFileSync(log, 'utf8') : ''}`)
    }
    await Bun.sleep(100)
  }
}

try {
  if (DEBIAN_ROOT === undefined) {
    console.log('making a root of Debian 12')
    const packages = '--include=ca-certificates,rpm,dnf,dnf-plugins-core'
    await run(['debootstrap', '--variant=minbase', packages, 'bookworm', root, MIRROR], top)
  } else await run(['cp', '--archive', DEBIAN_ROOT, root], top)
  await run(['mount', '-t', 'proc', 'proc', join(root, 'proc')], top)
  stoppers.push(() => run(['umount', join(root, 'proc')], top))
  // Nothing starts by itself in a root without an init.
  writeFileSync(join(root, 'usr/sbin/policy-rc.d'), '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  await tryDebian()
  await tryRpm()
  console.log('all packages work')
} finally {
  for (const stop of stoppers.toReversed()) await stop()
  rmSync(top, { recursive: true, force: true })
}
