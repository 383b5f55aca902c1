import { describe, expect, test } from 'bun:test'
import { backupName, backupsAmong, dueInUs, expired } from '../../src/backups/schedule.ts'

const HOUR_US = 3_600_000_000
const AT_US = Date.parse('2026-11-23T07:15:00Z') * 1_000

describe('backups', () => {
  test('have the time in their name, and are found by it, the newest first', () => {
    expect(backupName(AT_US + 999_999)).toBe('hookswitch-2026-11-23T071500Z.db')
    const names = ['notes.txt', 'hookswitch-2026-13-99T071500Z.db', 'hookswitch-2026-11-23T071500Z.db.part']
    expect(backupsAmong([...names, backupName(AT_US), backupName(AT_US + HOUR_US)], AT_US + HOUR_US)).toEqual([
      { name: 'hookswitch-2026-11-23T081500Z.db', atUs: AT_US + HOUR_US, isAhead: false },
      { name: 'hookswitch-2026-11-23T071500Z.db', atUs: AT_US, isAhead: false },
    ])
  })

  test('are due at once without one, then after each interval', () => {
    const backups = backupsAmong([backupName(AT_US)], AT_US)
    expect(dueInUs([], HOUR_US, AT_US)).toBe(0)
    expect(dueInUs(backups, HOUR_US, AT_US)).toBe(HOUR_US)
    expect(dueInUs(backups, HOUR_US, AT_US + HOUR_US / 4)).toBe((HOUR_US * 3) / 4)
    expect(dueInUs(backups, HOUR_US, AT_US + 5 * HOUR_US)).toBe(0)
  })

  test('from the future do not delay the next one', () => {
    const backups = backupsAmong([backupName(AT_US + 100 * HOUR_US), backupName(AT_US)], AT_US + HOUR_US / 2)
    expect(dueInUs(backups, HOUR_US, AT_US + HOUR_US / 2)).toBe(HOUR_US / 2)
  })

  test('beyond the number that is kept are deleted, the oldest', () => {
    const backups = backupsAmong([0, 1, 2].map(hoursOn), AT_US + 3 * HOUR_US)
    expect(expired(backups, 2, hoursOn(2)).map(({ name }) => name)).toEqual(['hookswitch-2026-11-23T071500Z.db'])
    expect(expired(backups, 3, hoursOn(2))).toEqual([])
  })

  test('from the future are deleted first, and never the one that was just made', () => {
    const backups = backupsAmong([0, 1, 100, 200].map(hoursOn), AT_US + HOUR_US)
    expect(backups.map(({ name, isAhead }) => [name, isAhead])).toEqual([
      [hoursOn(1), false],
      [hoursOn(0), false],
      [hoursOn(200), true],
      [hoursOn(100), true],
    ])
    expect(expired(backups, 2, hoursOn(1)).map(({ name }) => name)).toEqual([hoursOn(200), hoursOn(100)])
    // The clock was set back while the backup was made.
    expect(expired(backups, 1, hoursOn(100)).map(({ name }) => name)).toEqual([hoursOn(0), hoursOn(200)])
  })
})

const hoursOn = (hours: number): string => backupName(AT_US + hours * HOUR_US)
