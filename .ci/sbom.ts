import manifest from '../package.json' with { type: 'json' }
import { packagesInside } from '../src/cli/third-party-notices.ts'

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
    components,
  }
  return `${JSON.stringify(bom, null, 2)}\n`
}

const purlOf = (name: string, version: string): string =>
  name === 'Bun' ? `pkg:github/oven-sh/bun@bun-v${version}` : `pkg:npm/${name.replace('@', '%40')}@${version}`
