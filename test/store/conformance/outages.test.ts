import { expect, test } from 'bun:test'
import { onEngines } from './rig.ts'

onEngines('outages', ({ open }) => {
  test('outages that are reported are kept until one reports that they are over', async () => {
    await using at = await open()
    const { outages } = at.store
    const webhook = { what: 'webhook' as const, key: '7', name: 'https://crm.example.com/…' }
    const pbx = { what: 'pbx' as const, key: 'office', name: 'office' }
    expect(await outages.outageList('webhook')).toEqual([])
    expect(await outages.outageAdd(webhook)).toBe(true)
    expect(await outages.outageAdd({ ...webhook, name: 'another' })).toBe(false)
    expect(await outages.outageAdd(pbx)).toBe(true)
    expect(await outages.outageAdd({ ...webhook, key: '12' })).toBe(true)
    expect(await outages.outageList('webhook')).toEqual([{ ...webhook, key: '12' }, webhook])
    expect(await outages.outageList('pbx')).toEqual([pbx])
    expect(await outages.outageRemove({ what: 'pbx', key: '7' })).toBe(false)
    expect(await outages.outageRemove(webhook)).toBe(true)
    expect(await outages.outageRemove(webhook)).toBe(false)
    expect(await outages.outageList('webhook')).toEqual([{ ...webhook, key: '12' }])
  })
})
