import { startTemplateThread } from '../app/start-template-thread.ts'
import { createLog } from '../lib/log.ts'
import { createTemplateRenderer, type TemplateRenderer } from '../templates/templates.ts'

/** Runs a function with a renderer of templates. Errors in a template are in the result, not in a log. */
export async function withTemplates<Result>(work: (templates: TemplateRenderer) => Promise<Result>): Promise<Result> {
  const templates = createTemplateRenderer({ startThread: startTemplateThread, log: createLog('silent') })
  try {
    return await work(templates)
  } finally {
    await templates.stop()
  }
}
