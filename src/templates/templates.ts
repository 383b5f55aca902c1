// Renders the Liquid templates of strangers within limits. Knows neither events nor flows.

export { type Escaping, escapingOf } from './content-escaping.ts'
export { MAX_TEMPLATE_CHARACTERS } from './limits.ts'
export type { TemplateText } from './render-job.ts'
export { createTemplateRenderer, type Rendering, type RenderRequest, type TemplateRenderer } from './renderer.ts'
