import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { run } from '../run-command.ts'
import { manualPage } from './manual-page.ts'
import { settingsFile } from './settings-file.ts'

/** The executable of an architecture of Debian, and what goes into its package. */
export type PackageSource = {
  readonly architecture: 'amd64' | 'arm64'
  readonly executable: string
  readonly licenses: string
  /** The section of this version in CHANGELOG.md. */
  readonly notes: string
  readonly releasedMs: number
}

/** The newest symbols that Bun is linked with come from glibc 2.17. */
const LIBC = 'libc6 (>= 2.17)'

/** On GitHub these are known; a package that is built elsewhere names nobody. */
const { GITHUB_SERVER_URL, GITHUB_REPOSITORY, GITHUB_REPOSITORY_OWNER } = process.env
const HOMEPAGE = GITHUB_REPOSITORY === undefined ? undefined : `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`
const MAINTAINER = `The Hookswitch authors <${GITHUB_REPOSITORY_OWNER ?? 'hookswitch'}@users.noreply.github.com>`

/** Builds a Debian package in a folder, and returns its name. The same source makes the same bytes. */
export async function buildDebianPackage(source: PackageSource, folder: string): Promise<string> {
  const name = `hookswitch_${debianVersion()}_${source.architecture}.deb`
  const root = mkdtempSync(join(tmpdir(), 'hookswitch-deb-'))
  try {
    await writeTree(source, root)
    // xz: Debian 11 knows no zstd. Level 3: a higher one takes minutes and saves little.
    const command = ['dpkg-deb', '--root-owner-group', '-Zxz', '-z3', '--build', root, join(folder, name)]
    await run(command, root, { ...process.env, SOURCE_DATE_EPOCH: String(Math.floor(source.releasedMs / 1_000)) })
    return name
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

/** `1.0.0-beta.1` comes before `1.0.0`: in Debian's order by a tilde. */
const debianVersion = (): string => manifest.version.replace('-', '~')

async function writeTree(source: PackageSource, root: string): Promise<void> {
  const put = (path: string, content: string | Uint8Array, mode = 0o644) => {
    const file = join(root, path)
    mkdirSync(dirname(file), { recursive: true, mode: 0o755 })
    writeFileSync(file, content)
    chmodSync(file, mode)
  }
  const ours = (name: string) => readFileSync(join(import.meta.dir, name))
  chmodSync(root, 0o755)
  mkdirSync(join(root, 'usr/bin'), { recursive: true })
  copyFileSync(source.executable, join(root, 'usr/bin/hookswitch'))
  put('etc/hookswitch.env', settingsFile(), 0o640)
  put('usr/lib/systemd/system/hookswitch.service', ours('hookswitch.service'))
  put('usr/share/man/man1/hookswitch.1.gz', gzip(manualPage(source.releasedMs)))
  put('usr/share/doc/hookswitch/copyright', source.licenses)
  put('usr/share/doc/hookswitch/changelog.gz', gzip(debianChangelog(source)))
  put('usr/share/lintian/overrides/hookswitch', ours('lintian-overrides'))
  for (const script of ['postinst', 'prerm', 'postrm']) put(`DEBIAN/${script}`, ours(script), 0o755)
  put('DEBIAN/conffiles', '/etc/hookswitch.env\n')
  put('DEBIAN/control', control(source, root))
}

/** Without a time in it, so that the same text is the same file. */
const gzip = (text: string): Uint8Array => Bun.gzipSync(Buffer.from(text), { level: 9 })

function control({ architecture }: PackageSource, root: string): string {
  const kib = Math.ceil(statSync(join(root, 'usr/bin/hookswitch')).size / 1024)
  return `${[
    'Package: hookswitch',
    `Version: ${debianVersion()}`,
    `Architecture: ${architecture}`,
    `Maintainer: ${MAINTAINER}`,
    `Installed-Size: ${kib}`,
    `Depends: ${LIBC}, adduser`,
    'Section: comm',
    'Priority: optional',
    ...(HOMEPAGE === undefined ? [] : [`Homepage: ${HOMEPAGE}`]),
    'Description: call-event webhooks for Asterisk and FreeSWITCH',
    ' Hookswitch watches the calls of Asterisk and FreeSWITCH PBXs and sends',
    ' other systems (CRM, bots, monitoring) a signed HTTP POST for each call',
    ' event, in real time: a phone rings, someone answers, the call is',
    ' transferred, it ends, its recording is available. Each event is stored',
    ' before it is sent, and delivered until its receiver has accepted it.',
  ].join('\n')}\n`
}

/** Writes a version's section of CHANGELOG.md in the form of Debian. */
function debianChangelog({ notes, releasedMs }: PackageSource): string {
  const [, ...groups] = notes.split(/^### /m)
  const items = groups.flatMap((group) => {
    const [name = '', ...texts] = group.split(/^- /m)
    return texts.map((text) => `${name.trim()}: ${text.replaceAll('**', '').replaceAll(/\s+/g, ' ').trim()}`)
  })
  const date = new Date(releasedMs).toUTCString().replace('GMT', '+0000')
  return [
    `hookswitch (${debianVersion()}) stable; urgency=medium`,
    '',
    ...items.flatMap(itemLines),
    '',
    ` -- ${MAINTAINER}  ${date}`,
    '',
  ].join('\n')
}

const MAX_COLUMNS = 78

/** Breaks an item of the changelog into lines. */
function itemLines(item: string): string[] {
  const lines = ['  *']
  for (const word of item.split(' ')) {
    const line = `${lines.at(-1)} ${word}`
    if (line.length <= MAX_COLUMNS) lines.splice(-1, 1, line)
    else lines.push(`    ${word}`)
  }
  return lines
}
