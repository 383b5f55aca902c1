import { createTemplateRenderer, type TemplateRenderer } from '../templates/templates.ts'

/** Runs a function with a renderer of templates. */
export const withTemplates = <Result>(work: (templates: TemplateRenderer) => Promise<Result>): Promise<Result> =>
  work(createTemplateRenderer())
