import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { manualPage } from '../.ci/deb/manual-page.ts'
import { settingsFile } from '../.ci/deb/settings-file.ts'
import { billOfMaterials, INTERFACES } from '../.ci/sbom.ts'
import manifest from '../package.json' with { type: 'json' }
import { SETTINGS } from '../src/app/settings.ts'
import { NOTICES } from '../src/cli/license-texts.ts'

const ROOT = resolve(import.meta.dir, '..')
const GITHUB = join(ROOT, '.github')
const texts = (folder: string) =>
  readdirSync(join(GITHUB, folder)).map((name): [string, string] => [
    name,
    readFileSync(join(GITHUB, folder, name), 'utf8'),
  ])

describe('the workflows', () => {
  test.each(texts('workflows'))('%s uses every action by its commit', (_, text) => {
    const actions = [...text.matchAll(/uses: (\S+)/g)].map(([, action = '']) => action)
    const ofOthers = actions.filter((action) => !action.startsWith('./'))
    expect(ofOthers.length).toBeGreaterThan(0)
    for (const action of ofOthers) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/)
    for (const action of actions.filter((one) => one.startsWith('./')))
      expect(existsSync(join(ROOT, action))).toBe(true)
  })

  test.each(texts('workflows'))('%s names files and folders that exist', (_, text) => {
    const paths = [...text.matchAll(/(?<![\w./-])(?:test|\.ci)\/[\w./-]+/g)].map(([path]) => path)
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  })

  test('every image is named by its digest, in the Dockerfile too, and one image by one digest', () => {
    const files = [readFileSync(join(ROOT, 'Dockerfile'), 'utf8'), ...texts('workflows').map(([, text]) => text)]
    const images = files.flatMap((text) =>
      [...text.matchAll(/^(?:FROM| +container:) (\S+)/gm)].map(([, image = '']) => image),
    )
    expect(images.length).toBeGreaterThanOrEqual(4)
    for (const image of images) expect(image).toMatch(/^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/)
    expect(new Set(images).size).toBe(new Set(images.map((image) => image.replace(/@.*/, ''))).size)
  })

  test('the Dockerfile builds with the version of Bun that the project asks for', () => {
    expect(readFileSync(join(ROOT, 'Dockerfile'), 'utf8')).toContain(
      `npm install --global bun@${manifest.engines.bun}\n`,
    )
  })

  test.each(texts('workflows'))('%s runs the scripts that there are', (_, text) => {
    const scripts = [...text.matchAll(/\bbun@(\S+) run (\w+)/g)]
    for (const [, version, script] of scripts) {
      expect(version).toBe(manifest.engines.bun)
      expect(Object.keys(manifest.scripts)).toContain(script ?? '')
    }
  })
})

describe('the issue forms', () => {
  test.each(texts('ISSUE_TEMPLATE').filter(([name]) => name !== 'config.yml'))('%s is one', (_, text) => {
    const form = Bun.YAML.parse(text) as { name: string; description: string; body: { id: string; type: string }[] }
    expect(form.name.length * form.description.length).toBeGreaterThan(0)
    const ids = form.body.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(form.body.map(({ type }) => type).filter((type) => !/^(input|textarea|dropdown)$/.test(type))).toEqual([])
  })
})

describe('the Debian package', () => {
  test('has a file with every setting, which systemd and shells read alike', () => {
    const file = settingsFile()
    const named = [...file.matchAll(/^#?HOOKSWITCH_(\w+)='([^']*)'$/gm)].map(([, name = '']) => name)
    const flags = Object.values(SETTINGS).map(({ flag }) => flag.replace(/^--/, '').replace(/ .*/, ''))
    expect(named.toSorted()).toEqual(flags.map((flag) => flag.replaceAll('-', '_').toUpperCase()).toSorted())
    const open = file.replaceAll(/^#(?=HOOKSWITCH)/gm, '')
    const read = Bun.spawnSync(['sh', '-c', 'set -a; . /dev/stdin; printenv HOOKSWITCH_PBX'], {
      stdin: Buffer.from(open),
    })
    expect(read.stdout.toString()).toBe('ami://hookswitch:choose-a-long-one@127.0.0.1?name=office\n')
  })

  test('has a manual page with every command and every setting', () => {
    const page = manualPage(0).replaceAll('\\-', '-')
    for (const command of ['serve', 'pbx check', 'user add', 'webhook set', 'doctor'])
      expect(page).toContain(`\\fB${command}\\fR`)
    for (const { flag } of Object.values(SETTINGS)) expect(page).toContain(`\\fB${flag}\\fR`)
  })
})

test('the list of all software inside has every package whose licence is printed', () => {
  const { components } = JSON.parse(billOfMaterials(0)) as {
    components: { name: string; version: string; 'bom-ref': string }[]
  }
  const names = new Set(components.map(({ name }) => name))
  expect(NOTICES.map(({ name }) => name).filter((name) => !names.has(name))).toEqual([])
  expect(new Set(components.map((one) => one['bom-ref'])).size).toBe(components.length)
  // Libraries that a later version of Bun links in have to be listed too.
  const unlisted = Object.keys(process.versions).filter((name) => !names.has(name) && !INTERFACES.includes(name))
  expect(unlisted).toEqual([])
  for (const { version } of components) expect(version).not.toBe('unknown')
})

test('the folder of the n8n package has no program beside the node, since its linter reads all of them', () => {
  const files = [...new Bun.Glob('**/*.ts').scanSync(join(ROOT, '.ci/n8n'))]
  const own = files.filter((path) => !/^(node_modules|dist)\//.test(path))
  expect(own.length).toBeGreaterThan(0)
  expect(own.filter((path) => !/^(credentials|nodes)\//.test(path))).toEqual([])
})
