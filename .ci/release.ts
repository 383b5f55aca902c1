import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import manifest from '../package.json' with { type: 'json' }

// What `bun run release` makes, in dist/release: the executables, the licences of all that is inside them, the SHA256SUMS of these, and
// this version's section of CHANGELOG.md.

const ROOT = resolve(import.meta.dir, '..')
const FOLDER = join(ROOT, 'dist/release')
const LICENSES = 'LICENSES.txt'
const { version } = manifest

/** `baseline` is for processors before Haswell (2013). The number is ELF's name of the machine. */
const TARGETS = [
  { name: 'linux-x64', target: 'bun-linux-x64', machine: 0x3e },
  { name: 'linux-x64-baseline', target: 'bun-linux-x64-baseline', machine: 0x3e },
  { name: 'linux-arm64', target: 'bun-linux-arm64', machine: 0xb7 },
] as const
const OURS = process.arch === 'arm64' ? 0xb7 : 0x3e

const notes = sectionOf(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'))
rmSync(FOLDER, { recursive: true, force: true })
mkdirSync(FOLDER, { recursive: true })
writeFileSync(join(FOLDER, 'NOTES.md'), notes)

const sums: string[] = []
for (const { name, target, machine } of TARGETS) {
  const file = `hookswitch-${version}-${name}`
  await build(target, join(FOLDER, file))
  const bytes = readFileSync(join(FOLDER, file))
  if (bytes.readUInt16LE(18) !== machine) throw new Error(`${file} is for another machine`)
  const tried = machine === OURS && process.platform === 'linux'
  if (tried) await tryOut(join(FOLDER, file))
  sums.push(`${new Bun.CryptoHasher('sha256').update(bytes).digest('hex')}  ${file}`)
  console.log(`${file}  ${Math.round(bytes.length / 1024 / 1024)} MiB  ${tried ? 'runs' : 'built'}`)
}
const licenses = await run(['bun', 'src/main.ts', 'licenses'], ROOT)
writeFileSync(join(FOLDER, LICENSES), licenses)
sums.push(`${new Bun.CryptoHasher('sha256').update(licenses).digest('hex')}  ${LICENSES}`)
writeFileSync(join(FOLDER, 'SHA256SUMS'), `${sums.join('\n')}\n`)
console.log(`hookswitch ${version} is in dist/release`)

/** A version without a section is not ready to be released. */
function sectionOf(changelog: string): string {
  const sections = changelog.split(/^(?=## )/m)
  const found = sections.find((section) => section.startsWith(`## ${version}`))
  if (found === undefined) throw new Error(`CHANGELOG.md has no section for ${version}: write it first`)
  return found.trim().concat('\n')
}

/** The very build of `bun run build`, for another machine. */
async function build(target: string, outfile: string): Promise<void> {
  const command = manifest.scripts.build.replace('--outfile dist/hookswitch', `--target ${target} --outfile ${outfile}`)
  await run(['bun', ...command.split(' ').slice(1)], ROOT)
  chmodSync(outfile, 0o755)
}

/** In an empty folder with an empty environment: it says its version, and does the main job. */
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

async function run(command: string[], cwd: string, env?: Record<string, string>): Promise<string> {
  const child = Bun.spawn(command, { cwd, stdout: 'pipe', stderr: 'pipe', ...(env === undefined ? {} : { env }) })
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')} failed:\n${stdout}${stderr}`)
  return stdout
}
