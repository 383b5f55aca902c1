import manifest from '../package.json' with { type: 'json' }
import { packagesInside } from '../src/cli/third-party-notices.ts'

/** What Bun links in, by the name under which it reports the version: a commit of these repositories, or a release. */
const LINKED: Readonly<Record<string, { readonly repository: string; readonly license: string }>> = {
  ares: { repository: 'c-ares/c-ares', license: 'MIT' },
  boringssl: { repository: 'oven-sh/boringssl', license: 'Apache-2.0, ISC and OpenSSL' },
  icu: { repository: 'unicode-org/icu', license: 'Unicode-3.0' },
  libarchive: { repository: 'libarchive/libarchive', license: 'BSD-2-Clause' },
  libdeflate: { repository: 'ebiggers/libdeflate', license: 'MIT' },
  llhttp: { repository: 'nodejs/llhttp', license: 'MIT' },
  lolhtml: { repository: 'cloudflare/lol-html', license: 'BSD-3-Clause' },
  lshpack: { repository: 'litespeedtech/ls-hpack', license: 'MIT' },
  mimalloc: { repository: 'oven-sh/mimalloc', license: 'MIT' },
  picohttpparser: { repository: 'h2o/picohttpparser', license: 'MIT or Artistic-1.0-Perl' },
  sqlite: { repository: 'sqlite/sqlite', license: 'public domain' },
  tinycc: { repository: 'oven-sh/tinycc', license: 'LGPL-2.1' },
  usockets: { repository: 'oven-sh/bun', license: 'Apache-2.0' },
  uwebsockets: { repository: 'oven-sh/bun', license: 'Apache-2.0' },
  webkit: { repository: 'oven-sh/WebKit', license: 'LGPL-2.1 and BSD-2-Clause' },
  zig: { repository: 'oven-sh/zig', license: 'MIT' },
  zlib: { repository: 'cloudflare/zlib', license: 'Zlib' },
  zstd: { repository: 'facebook/zstd', license: 'BSD-3-Clause or GPL-2.0' },
}
/** Versions of interfaces that Bun has, of no software inside it; Bun itself is among the packages. */
export const INTERFACES = ['bun', 'modules', 'napi', 'node', 'openssl', 'typescript', 'unicode', 'uv', 'v8']

const linkedComponents = () =>
  Object.entries(LINKED).map(([name, { repository, license }]) => {
    const version = process.versions[name] ?? 'unknown'
    const purl = `pkg:github/${repository.toLowerCase()}@${version}#${name}`
    return { type: 'library', name, version, purl, 'bom-ref': purl, licenses: [{ license: { name: license } }] }
  })

/** Returns the list of all software in the executable as CycloneDX 1.6. */
export function billOfMaterials(releasedMs: number): string {
  const components = packagesInside().map(({ name, version, license }) => ({
    type: 'library',
    name,
    version,
    purl: purlOf(name, version),
    'bom-ref': purlOf(name, version),
    licenses: [{ license: { name: license } }],
  }))
  const bom = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      timestamp: new Date(releasedMs).toISOString(),
      component: {
        type: 'application',
        name: manifest.name,
        version: manifest.version,
        'bom-ref': purlOf(manifest.name, manifest.version),
        licenses: [{ license: { id: manifest.license } }],
      },
    },
    components: [...components, ...linkedComponents()],
  }
  return `${JSON.stringify(bom, null, 2)}\n`
}

const purlOf = (name: string, version: string): string =>
  name === 'Bun' ? `pkg:github/oven-sh/bun@bun-v${version}` : `pkg:npm/${name.replace('@', '%40')}@${version}`
