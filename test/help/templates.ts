import { startTemplateThread } from '../../src/app/start-template-thread.ts'
import { createTemplateRenderer } from '../../src/templates/renderer.ts'

const quiet = () => {}

/** They end a template that hangs: on a busy machine a thread is charged for more than it has done. */
const LIMITS = { cpuUs: 30_000_000, ticksUnknown: 12_000, ticks: 12_000 }

/** The renderer of tests that are about something else. Its thread starts with the first template, and keeps nothing running. */
export const TEMPLATES = createTemplateRenderer({
  startThread: startTemplateThread,
  log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  limits: LIMITS,
})
