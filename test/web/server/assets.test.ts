import { expect, test } from 'bun:test'
import { loadAssets } from '../../../src/web/server/assets.ts'

test('from the sources, too, each file of the pages can be read', async () => {
  const assets = await loadAssets()
  expect(assets.filter((one) => one.isHtml).map((one) => one.path)).toEqual(['/', '/docs', '/help', '/pop'])
  for (const one of assets) expect((await one.read()).length).toBeGreaterThan(0)
})
