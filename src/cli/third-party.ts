import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** A package that is inside the executable, and the terms on which. */
export type ThirdParty = { readonly name: string; readonly version: string; readonly terms: string }

type Manifest = {
  readonly name?: string
  readonly version?: string
  readonly license?: string
  readonly homepage?: string
  readonly dependencies?: Readonly<Record<string, string>>
}

const ROOT = resolve(import.meta.dir, '../..')
const LICENSE_FILE = /^(licen[cs]e|copying|notice)/i

/** Of the runtime, which is no package: its own terms, and where those of what it is made of are listed. */
const runtime = (): ThirdParty => ({
  name: 'bun',
  version: Bun.version,
  terms: `MIT License, Copyright (c) Oven. Bun contains JavaScriptCore and other parts of WebKit (LGPL-2.1 and BSD-2-Clause), BoringSSL, SQLite and
further libraries. Their terms, and how to link Bun with another build of JavaScriptCore: https://bun.com/docs/project/license`,
})

/**
 * Reads the licence of every package that production needs, directly or through another. It runs when the program is bundled, so that the
 * texts are inside the executable, where there is no node_modules.
 */
export function readThirdParty(): ThirdParty[] {
  const found = new Map<string, ThirdParty>()
  const wanted = Object.keys(manifestIn(ROOT).dependencies ?? {})
  for (let name = wanted.shift(); name !== undefined; name = wanted.shift()) {
    if (found.has(name)) continue
    const folder = join(ROOT, 'node_modules', name)
    const manifest = manifestIn(folder)
    found.set(name, { name, version: manifest.version ?? '', terms: termsIn(folder, manifest) })
    wanted.push(...Object.keys(manifest.dependencies ?? {}))
  }
  return [runtime(), ...[...found.values()].toSorted((one, other) => one.name.localeCompare(other.name))]
}

function manifestIn(folder: string): Manifest {
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return manifest
}

/** A package without a text of its own names at least its licence. */
function termsIn(folder: string, { license = 'no licence is named', homepage = '' }: Manifest): string {
  const files = readdirSync(folder).filter((name) => LICENSE_FILE.test(name))
  const texts = files.map((name) => readFileSync(join(folder, name), 'utf8').trim())
  return texts.length > 0 ? texts.join('\n\n') : `${license}   ${homepage}`.trim()
}
