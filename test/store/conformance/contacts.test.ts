import { expect, test } from 'bun:test'
import { ACCOUNT, onEngines } from './rig.ts'

onEngines('contacts', ({ open }) => {
  test('the settings of an account are replaced if they are those that were seen', async () => {
    await using at = await open()
    const { contacts } = at.store
    const replace = (settings: string | null, seen: string | null, accountId = ACCOUNT) =>
      contacts.contactSettingsReplace({ accountId, settings, seen })
    expect(await contacts.contactSettingsGet(ACCOUNT)).toBeUndefined()
    expect(await replace('one', 'none')).toBe(false)
    expect(await replace('one', null)).toBe(true)
    expect(await replace('two', null)).toBe(false)
    expect(await replace('two', 'one')).toBe(true)
    expect(await replace('other', null, ACCOUNT + 1)).toBe(true)
    expect(await contacts.contactSettingsGet(ACCOUNT)).toBe('two')
    expect(await contacts.contactSettingsList()).toEqual([
      { accountId: ACCOUNT, settings: 'two' },
      { accountId: ACCOUNT + 1, settings: 'other' },
    ])
    expect(await replace(null, 'one')).toBe(false)
    expect(await replace(null, 'two')).toBe(true)
    expect(await contacts.contactSettingsList()).toHaveLength(1)
  })

  test('it is counted how often cached contacts had to be forgotten', async () => {
    await using at = await open()
    const { contacts } = at.store
    expect(await contacts.contactsForgottenCount()).toBe(0)
    await contacts.contactsForget()
    await contacts.contactsForget()
    expect(await contacts.contactsForgottenCount()).toBe(2)
  })
})
