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
  const digests = await loadPresetFolder(folder, {
    onLeftOut: (path, problem) => log.error({ path, problem }, 'a preset is left out'),
    trial: { templates, samples: exampleTexts() },
  })
  log.info({ folder, presets: [...digests.keys()].join(', ') }, 'presets of files are offered')
  return digests
}
