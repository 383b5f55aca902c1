import { expect, test } from 'bun:test'
import { lackingPresets, newPresetNeeds } from '../../src/cluster/preset-needs.ts'
import type { LiveNode } from '../../src/store/operations/cluster.ts'
import type { AccountPreset } from '../../src/store/operations/webhooks.ts'

const SECOND = 1_000_000
const node = (presets: LiveNode['presets']): LiveNode => ({ id: 'a', beat: 1, pbxs: [], presets, isLeaving: false })

test('a node lacks the presets that another one has; one that does not say lacks none', () => {
  const nodes = [['odoo'], ['odoo', 'mine', 'his'], null].map((presets) => node(presets))
  expect(nodes.map((one) => lackingPresets(one, nodes))).toEqual([['his', 'mine'], [], []])
})

test('the webhooks are read while nodes differ, every 5 s, and only for presets that not all have', async () => {
  let reads = 0
  let stored: AccountPreset[] = [
    { accountId: 1, preset: 'mine' },
    { accountId: 1, preset: 'odoo' },
    { accountId: 2, preset: 'odoo' },
  ]
  const { needs, noteNodes } = newPresetNeeds({
    async read() {
      reads += 1
      if (stored.length === 0) throw new Error('the database does not answer')
      return stored
    },
  })
  const [same, different] = [
    [node(['odoo', 'mine']), node(['mine', 'odoo']), node(null)],
    [node(['odoo', 'mine']), node(['odoo'])],
  ]
  await noteNodes(same, 0)
  expect([reads, needs().size]).toEqual([0, 0])
  await noteNodes(different, SECOND)
  expect([reads, [...needs()]]).toEqual([1, [['account:1', ['mine']]]])
  stored = [{ accountId: 2, preset: 'mine' }]
  await noteNodes(different, 6 * SECOND - 1)
  expect(reads).toBe(1)
  await noteNodes(different, 6 * SECOND)
  expect([reads, [...needs()]]).toEqual([2, [['account:2', ['mine']]]])
  // What was known stays known.
  stored = []
  await noteNodes(different, 11 * SECOND)
  expect([reads, needs().size]).toEqual([3, 1])
  await noteNodes(same, 11 * SECOND + 1)
  expect(needs().size).toBe(0)
  stored = [{ accountId: 2, preset: 'mine' }]
  await noteNodes(different, 11 * SECOND + 2)
  expect([reads, needs().size]).toEqual([4, 1])
})
