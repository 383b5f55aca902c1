import { exampleTexts } from '../events/samples.ts'
import { loadPresetFolder, setPresetsOfFiles } from '../flows/flows.ts'
import type { Log } from '../lib/log.ts'
import type { TemplateRenderer } from '../templates/templates.ts'
import type { Config } from './config.ts'

type Parts = { readonly log: Log; readonly templates: TemplateRenderer }

/**
 * Offers the presets of the folder of `--presets` beside the built-in ones; a wrong one is logged and left out. Returns
 * their names, each with the digest of its file.
 */
export async function loadPresets(
  { presets: folder }: Pick<Config, 'presets'>,
  { log, templates }: Parts,
): Promise<ReadonlyMap<string, string>> {
  if (folder === undefined) {
    setPresetsOfFiles([])
    return new Map()
  }
  const digests = await tryPresetFolder(folder, {
    onLeftOut: (path, problem) => log.error({ path, problem }, 'a preset is left out'),
    templates,
  })
  if (digests.size > 0) log.info({ folder, presets: [...digests.keys()].join(', ') }, 'presets of files are offered')
  else log.warn({ folder }, 'the folder of --presets has no preset that can be offered')
  return digests
}

type Trial = Pick<Parameters<typeof loadPresetFolder>[1], 'onLeftOut'> & Pick<Parts, 'templates'>

/** Offers the presets of a folder, each tried with a sample of every event. Returns names and digests of the files. */
export const tryPresetFolder = (
  folder: string,
  { onLeftOut, templates }: Trial,
): Promise<ReadonlyMap<string, string>> =>
  loadPresetFolder(folder, { onLeftOut, trial: { templates, samples: exampleTexts() } })
