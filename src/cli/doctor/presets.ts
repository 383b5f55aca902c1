import { tryPresetFolder } from '../../app/presets.ts'
import { createTemplateRenderer } from '../../templates/templates.ts'
import { type Diagnosis, ok, wrong } from './diagnosis.ts'

const FIX = 'correct the file, and start the service again   hookswitch help presets'

/** Checks the files in the folder of `--presets`: a wrong one is left out by the service. */
export async function diagnosePresetFolder(folder: string | undefined): Promise<Diagnosis[]> {
  if (folder === undefined) return []
  const leftOut: Diagnosis[] = []
  const presets = await tryPresetFolder(folder, {
    onLeftOut: (path, problem) => void leftOut.push(wrong('presets', `${path} is left out: ${problem}`, FIX)),
    templates: createTemplateRenderer(),
  })
  return presets.size === 0 ? leftOut : [ok('presets', `${[...presets.keys()].join(', ')} of ${folder}`), ...leftOut]
}
