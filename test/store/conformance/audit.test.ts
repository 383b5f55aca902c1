import { expect, test } from 'bun:test'
import type { AuditRecord } from '../../../src/store/operations/audit.ts'
import { NOW, onEngines } from './rig.ts'

onEngines('audit', ({ open }) => {
  const change = (atUs: number, more: Partial<AuditRecord> = {}) => ({
    atUs,
    action: 'pbx_set',
    account: 'acme',
    user: 'anna@example.com',
    by: null,
    address: '192.0.2.1',
    subject: null,
    facts: { pbx: 'office', added: ['https://one.example/…'] },
    ...more,
  })
  const withoutId = ({ id: _, ...rest }: AuditRecord) => rest

  test('changes are listed newest first, by account, action and page, until they are pruned', async () => {
    await using at = await open()
    const { audit } = at.store
    expect(await audit.auditList({ limit: 5 })).toEqual([])
    const changes = [
      change(NOW),
      change(NOW + 1, { action: 'user_added', user: null, by: 'root', subject: 'ben@example.com', facts: null }),
      change(NOW + 2, { account: null }),
    ]
    for (const one of changes) await audit.auditAdd(one)
    const all = await audit.auditList({ limit: 5 })
    expect(all.map(withoutId)).toEqual(changes.toReversed())
    expect(await audit.auditList({ limit: 1 })).toEqual(all.slice(0, 1))
    expect(await audit.auditList({ limit: 5, beforeId: all[0]?.id })).toEqual(all.slice(1))
    expect(await audit.auditList({ limit: 5, account: 'acme' })).toEqual(all.slice(1))
    expect(await audit.auditList({ limit: 5, account: 'acme', action: 'pbx_set' })).toEqual(all.slice(2))
    expect(await audit.auditPrune({ beforeUs: NOW + 2, limit: 1 })).toBe(1)
    expect(await audit.auditPrune({ beforeUs: NOW + 2, limit: 9 })).toBe(1)
    expect(await audit.auditPrune({ beforeUs: NOW + 2, limit: 9 })).toBe(0)
    expect(await audit.auditList({ limit: 5 })).toEqual(all.slice(0, 1))
  })
})
