import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TemplateRenderer } from '../../templates/templates.ts'
import type { Parameters } from '../model.ts'
import type { Preset } from '../preset.ts'
import { presetByName, setPresetsOfFiles } from '../presets/catalog.ts'
import { readPresetFile } from '../presets/preset-file.ts'
import { createStepRenderer } from '../step-renderer.ts'
import { flowOfPreset } from './flow-option.ts'
import { flowErrors } from './flow-rules.ts'
import { flowProblems } from './flow-trial.ts'

type Options = {
  /** Called with a file that is wrong, or a folder that cannot be read, and why. */
  readonly onLeftOut: (path: string, problem: string) => void
  /** Absent: the templates are not tried. */
  readonly trial?: { readonly templates: TemplateRenderer; readonly samples: ReadonlyMap<string, string> }
}

const SAMPLE_URL = 'https://crm.example.com/'
/** A larger file is no preset. */
const MAX_BYTES = 1_024 * 1_024
/** Errors that are logged of a file. */
const MAX_ERRORS = 5
/** Enough to tell the files of nodes apart. */
const DIGEST_CHARACTERS = 16

/**
 * Reads the presets of a folder, one of each `.json` file, and offers them like the built-in ones. A wrong file is
 * left out. Returns the names of the presets, each with the digest of its file.
 */
export async function loadPresetFolder(
  folder: string,
  { onLeftOut, trial }: Options,
): Promise<ReadonlyMap<string, string>> {
  setPresetsOfFiles([])
  const files = await readdir(folder).catch((err: unknown) => {
    onLeftOut(folder, `the folder cannot be read: ${err instanceof Error ? err.message : String(err)}`)
    return []
  })
  const presets: Preset[] = []
  const digests = new Map<string, string>()
  for (const file of files.filter((name) => name.endsWith('.json')).toSorted()) {
    const read = await readOne(join(folder, file), presets, trial)
    if ('problem' in read) onLeftOut(join(folder, file), read.problem)
    else {
      presets.push(read.preset)
      digests.set(read.preset.name, read.digest)
    }
  }
  setPresetsOfFiles(presets)
  return digests
}

type Read = { readonly preset: Preset; readonly digest: string } | { readonly problem: string }

async function readOne(path: string, others: readonly Preset[], trial: Options['trial']): Promise<Read> {
  const content = await readFile(path, 'utf8').catch(() => undefined)
  if (content === undefined) return { problem: 'it cannot be read' }
  if (content.length > MAX_BYTES) return { problem: 'it has more than 1 MiB' }
  const read = readPresetFile(content, (flow) =>
    flowErrors(flow, { url: SAMPLE_URL, body: null, withCredentials: false }),
  )
  if ('errors' in read) return { problem: sentenceOf(read.errors) }
  const { preset } = read
  if (presetByName(preset.name) !== undefined) return { problem: `/name: ${preset.name} is a built-in preset` }
  if (others.some(({ name }) => name === preset.name)) return { problem: `/name: another file has ${preset.name}` }
  const digest = createHash('sha256').update(content).digest('hex').slice(0, DIGEST_CHARACTERS)
  if (trial === undefined) return { preset, digest }
  const renderer = createStepRenderer(trial.templates, { accountId: 0, purpose: 'trying' })
  const flow = flowOfPreset(preset, sampleParameters(preset))
  const problems = await flowProblems(flow, { url: SAMPLE_URL, renderer, samples: trial.samples })
  return problems.length === 0 ? { preset, digest } : { problem: sentenceOf(problems) }
}

/** An error of the whole file has an empty path, so its message needs a subject. */
const sentenceOf = (errors: readonly { readonly path: string; readonly message: string }[]): string =>
  errors
    .slice(0, MAX_ERRORS)
    .map(({ path, message }) => {
      const place = path.replace(/^\/flow/, '')
      return place === '' ? `the file ${message}` : `${place}: ${message}`
    })
    .join('; ')

/** A value for each parameter, so that each template renders something. */
function sampleParameters({ parameters }: Preset): Parameters {
  const samples = { text: '1', secret: '1', boolean: true, map: { 101: '1' } }
  return Object.fromEntries(
    parameters.map(({ name, type, choices, default: byDefault }) => [
      name,
      byDefault ?? (type === 'choice' ? choices?.[0]?.value : samples[type]),
    ]),
  )
}
