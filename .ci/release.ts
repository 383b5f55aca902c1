import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import manifest from '../package.json' with { type: 'json' }
import { buildDebianPackage } from './deb/package.ts'
import { buildRpmPackage } from './rpm/package.ts'
import { run } from './run-command.ts'
import { billOfMaterials } from './sbom.ts'

// Makes a release in dist/release: the executables, the packages of Debian and RPM, the licences and the list (SBOM) of all that is
// inside them, the SHA256SUMS of these, and this version's section of CHANGELOG.md.

const ROOT = resolve(import.meta.dir, '..')
const FOLDER = join(ROOT, 'dist/release')
const LICENSES = 'LICENSES.txt'
const { version } = manifest

/**
 * `baseline` is for processors before Haswell (2013), as Debian's amd64 is. The number is ELF's name of the machine.
 */
const TARGETS = [
  { name: 'linux-x64', target: 'bun-linux-x64', machine: 0x3e, debian: undefined, rpm: undefined },
  { name: 'linux-x64-baseline', target: 'bun-linux-x64-baseline', machine: 0x3e, debian: 'amd64', rpm: 'x86_64' },
  { name: 'linux-arm64', target: 'bun-linux-arm64', machine: 0xb7, debian: 'arm64', rpm: 'aarch64' },
] as const
const OURS = process.arch === 'arm64' ? 0xb7 : 0x3e
const HAS_RPMBUILD = Bun.which('rpmbuild') !== null

const notes = sectionOf(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'))
const releasedMs = await commitTimeMs()
rmSync(FOLDER, { recursive: true, force: true })
mkdirSync(FOLDER, { recursive: true })
writeFileSync(join(FOLDER, 'NOTES.md'), notes)
const licenses = await run(['bun', 'src/main.ts', 'licenses'], ROOT)
writeFileSync(join(FOLDER, LICENSES), licenses)
const sbom = `hookswitch-${version}.cdx.json`
writeFileSync(join(FOLDER, sbom), billOfMaterials(releasedMs))

const made: string[] = [LICENSES, sbom]
for (const { name, target, machine, debian, rpm } of TARGETS) {
  const file = `hookswitch-${version}-${name}`
  const executable = join(FOLDER, file)
  await build(target, executable)
  const bytes = readFileSync(executable)
  if (bytes.readUInt16LE(18) !== machine) throw new Error(`${file} is for another machine`)
  const tried = machine === OURS && process.platform === 'linux'
  if (tried) await tryOut(executable)
  made.push(file)
  report(file, tried ? 'runs' : 'built')
  if (debian === undefined) continue
  const packed = await buildDebianPackage({ architecture: debian, executable, licenses, notes, releasedMs }, FOLDER)
  const packages = [packed]
  if (HAS_RPMBUILD)
    packages.push(await buildRpmPackage({ architecture: rpm, executable, licenses, releasedMs }, FOLDER))
  for (const one of packages) {
    made.push(one)
    report(one, 'built')
  }
}
writeFileSync(join(FOLDER, 'SHA256SUMS'), made.toSorted().map(sumOf).join(''))
console.log(`hookswitch ${version} is in dist/release`)
if (!HAS_RPMBUILD) {
  console.error(
    'No RPM packages were made: rpmbuild is missing (`apt-get install rpm`). All other files of the release are there.',
  )
  process.exitCode = 1
}

function report(file: string, what: string): void {
  console.log(`${file}  ${Math.round(readFileSync(join(FOLDER, file)).length / 1024 / 1024)} MiB  ${what}`)
}

function sumOf(file: string): string {
  return `${new Bun.CryptoHasher('sha256').update(readFileSync(join(FOLDER, file))).digest('hex')}  ${file}\n`
}

/** The time of the commit, so that the same commit makes the same files; without git the present. */
async function commitTimeMs(): Promise<number> {
  const seconds = await run(['git', 'log', '-1', '--format=%ct'], ROOT).catch(() => '')
  return seconds === '' ? Date.now() : Number(seconds) * 1_000
}

/** A version without a section is not ready to be released. */
function sectionOf(changelog: string): string {
  const sections = changelog.split(/^(?=## )/m)
  const found = sections.find((section) => section.startsWith(`## [${version}] `))
  if (found === undefined) throw new Error(`CHANGELOG.md has no section for ${version}: write it first`)
  return found.trim().concat('\n')
}

/** The very build of `bun run build`, for another machine. */
async function build(target: string, outfile: string): Promise<void> {
  const command = manifest.scripts.build.replace('--outfile dist/hookswitch', `--target ${target} --outfile ${outfile}`)
  await run(['bun', ...command.split(' ').slice(1)], ROOT)
  chmodSync(outfile, 0o755)
}

/** Runs the executable in an empty folder with an empty environment: `version`, then the demo. */
async function tryOut(file: string): Promise<void> {
  const cwd = mkdtempSync(join(tmpdir(), 'hookswitch-release-'))
  try {
    const said = await run([file, 'version'], cwd, {})
    if (said.trim() !== version) throw new Error(`${file} says that it is ${said}`)
    await run([file, 'demo', '--once'], cwd, {})
  } finally {
    rmSync(cwd, { recursive: true, force: true })
  }
}
