import { createTemplateRenderer } from '../../src/templates/renderer.ts'

/** The renderer of tests that are about something else. */
export const TEMPLATES = createTemplateRenderer()
