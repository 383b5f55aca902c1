import { describe, expect, test } from 'bun:test'
import { MILLISECOND, SECOND } from '../../src/lib/time.ts'
import { createBudgets, createRests } from '../../src/templates/budget.ts'

describe('the budget of an account', () => {
  test('is spent after a burst, and there again later', () => {
    const budgets = createBudgets()
    let atUs = 0
    let rendered = 0
    for (; budgets.spentForUs('1', atUs) === 0; rendered += 1) {
      atUs += 9 * MILLISECOND
      budgets.charge('1', atUs, 9 * MILLISECOND)
    }
    // The burst of 200 ms, and a fifth of the time meanwhile.
    expect(rendered).toBeWithin(22, 35)
    const forUs = budgets.spentForUs('1', atUs)
    expect(budgets.spentForUs('1', atUs + forUs)).toBe(0)
    expect(budgets.spentForUs('2', atUs)).toBe(0)
  })

  test('is charged all that was taken, however long', () => {
    const budgets = createBudgets()
    budgets.charge('1', 2 * SECOND, 2 * SECOND)
    expect(budgets.spentForUs('1', 2 * SECOND)).toBe(7 * SECOND)
  })

  test('is never spent by usual templates', () => {
    const budgets = createBudgets()
    for (let atUs = 0; atUs < 10 * SECOND; atUs += 1_000) {
      budgets.charge('1', atUs, 30)
      expect(budgets.spentForUs('1', atUs)).toBe(0)
    }
  })
})

describe('a template', () => {
  test('rests after three costly renderings in a row, not after three with a usual one between them', () => {
    const rests = createRests()
    rests.noteCostly('a', 0)
    rests.noteCostly('a', 0)
    rests.noteUsual('a')
    rests.noteCostly('a', 0)
    rests.noteCostly('a', 0)
    expect(rests.restsForUs('a', 0)).toBe(0)
    rests.noteCostly('a', 0)
    expect(rests.restsForUs('a', 0)).toBe(60 * SECOND)
    expect(rests.restsForUs('b', 0)).toBe(0)
  })

  test('rests at once when it is ended, each time twice as long, an hour at most', () => {
    const rests = createRests()
    const forS = Array.from({ length: 9 }, () => rests.rest('a', 0) / SECOND)
    expect(forS).toEqual([60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600])
  })
})
