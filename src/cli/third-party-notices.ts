import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { version as bunVersion } from 'bun'

// Runs when the executable is built (as a macro), or when the sources are loaded.

/** The licence of one package. */
export type Notice = {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly text: string
}

type Manifest = {
  readonly name: string
  readonly version: string
  readonly license?: string
  readonly author?: string | { readonly name: string }
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

const ROOT = resolve(import.meta.dir, '../..')
const USUAL_NAME = /^(licen[cs]e|copying|notice)([.-].*)?$/i

/** Returns the licence of Hookswitch itself. */
export const ownLicense = (): string => readFileSync(join(ROOT, 'LICENSE'), 'utf8').trim()

/** Returns the notices of Bun and of every package that the program is built from, in the order of their names. */
export function thirdPartyNotices(): Notice[] {
  // A further version of a package that has the same text is not named again.
  const packages = new Map(packagesInside().map((notice) => [`${notice.name} ${notice.text}`, notice]))
  return [...packages.values()]
}

/** Returns Bun and every version of every package that the program is built from, in the order of their names. */
export function packagesInside(): Notice[] {
  const folders = new Map<string, string>()
  const pending = neededBy(ROOT)
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    if (folders.has(folder)) continue
    folders.set(folder, folder)
    pending.push(...neededBy(folder))
  }
  // If a package has several versions, the last one is the version that we use.
  const notices = [...folders.keys()].toSorted((one, other) => other.length - one.length).map(noticeOf)
  return [
    noticeOfBun(),
    ...notices.toSorted((one, other) => (one.name < other.name ? -1 : Number(one.name > other.name))),
  ]
}

const manifestOf = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

/** `debug` takes in supports-color where something else, a tool of the developers, has installed it. */
const isLoadedIfInstalled = (name: string): boolean =>
  name === 'supports-color' && existsSync(join(ROOT, 'node_modules', name, 'package.json'))

/** Returns the folders of the packages that a package needs at run time. */
function neededBy(folder: string): string[] {
  const { dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = manifestOf(folder)
  const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true)
  const optional = Object.keys(peerDependenciesMeta).filter(isLoadedIfInstalled)
  return [...Object.keys(dependencies), ...peers, ...optional].map((name) => folderOf(name, folder))
}

/** Finds a package as Bun does: in node_modules beside the package that needs it, then further up. */
function folderOf(name: string, from: string): string {
  for (let folder = from; ; folder = dirname(folder)) {
    const found = join(folder, 'node_modules', name)
    if (existsSync(join(found, 'package.json'))) return found
    if (folder === dirname(folder)) throw new Error(`the package ${name} is not installed: bun install`)
  }
}

function noticeOf(folder: string): Notice {
  const { name, version, license = 'unknown', author } = manifestOf(folder)
  const files = readdirSync(folder).filter((file) => USUAL_NAME.test(file))
  const texts = files.toSorted().map((file) => readFileSync(join(folder, file), 'utf8').trim())
  const holder = typeof author === 'object' ? author.name : (author ?? `the authors of ${name}`)
  return { name, version, license, text: texts.length > 0 ? texts.join('\n\n') : withoutText(license, holder) }
}

/** Returns the licence text for a package that names its licence without including the text. */
function withoutText(license: string, holder: string): string {
  if (license === 'MIT') return ownLicense().replace(/^Copyright .*$/m, `Copyright (c) ${holder}`)
  if (license === 'Apache-2.0')
    return `Copyright ${holder}\n\nLicensed under the Apache License, Version 2.0: see its text under libphonenumber-js, below.`
  throw new Error(`a package by ${holder} contains no text of its licence, ${license}`)
}

/** Returns Bun's own page on its licence, which is part of its types. */
function noticeOfBun(): Notice {
  const page = readFileSync(join(folderOf('bun-types', ROOT), 'docs/project/license.mdx'), 'utf8')
  const text = page.replace(/^---\n.*?\n---\n/s, '').trim()
  return { name: 'Bun', version: bunVersion, license: 'MIT, and the licences of the libraries in it', text }
}
