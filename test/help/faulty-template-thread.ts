import { serveTemplates } from '../../src/templates/thread.ts'

declare const self: Worker

/**
 * The thread of templates with an engine that lets everything pass: data with `fault` makes it work without end or for
 * a while, take memory without end, or die, as a template would that no limit of the engine stops.
 */
const parse = JSON.parse
const kept: object[] = []
JSON.parse = (text: string) => {
  const data: unknown = parse(text)
  const fault = typeof data === 'object' && data !== null && 'fault' in data ? data.fault : undefined
  while (fault === 'endless');
  const startedMs = performance.now()
  while (fault === 'slow' && performance.now() - startedMs < 50);
  while (fault === 'hungry') kept.push(new Array(1_000).fill(kept.length))
  if (fault === 'deadly') throw new Error('the thread dies')
  return data
}

serveTemplates(self)
