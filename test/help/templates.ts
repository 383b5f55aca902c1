import { startTemplateThread } from '../../src/app/start-template-thread.ts'
import { createTemplateRenderer } from '../../src/webhooks/templates/renderer.ts'

const quiet = () => {}

/** The renderer of tests that are about something else. Its thread starts with the first template, and keeps nothing running. */
export const TEMPLATES = createTemplateRenderer({
  startThread: startTemplateThread,
  log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
})
