import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Locator } from 'playwright-core'
import { emptyFolder, type RunningApp, run, startServe } from '../../help/app.ts'
import { accessibilityFaults, browserOfRun, CHROMIUM, overflowOf, visit } from '../../help/browser.ts'
import { ask, logIn, PASSWORD } from '../../help/client.ts'
import { emptyDatabase, POSTGRES_MISSING } from '../../help/postgres.ts'
import { until } from '../../help/receiver.ts'

/** The nodes of a database as an administrator sees them: in the API, and on the page of any node. */

const ADMIN = 'admin@example.com'
const USER = 'user@example.com'

const addUser = (cwd: string, env: Record<string, string>, email: string, ...more: string[]) =>
  run(['user', 'add', '--email', email, '--name', 'A', ...more], { cwd, env, stdin: `${PASSWORD}\n` })

test('a service with a folder of its own has no nodes', async () => {
  using folder = emptyFolder()
  const app = await startServe({ cwd: folder.path })
  await addUser(folder.path, {}, ADMIN, '--admin')
  const { status, body } = await ask(app, 'GET', '/node', { token: await logIn(app, ADMIN) })
  expect([status, body.result]).toEqual([200, []])
  await app.stop()
})

describe.skipIf(POSTGRES_MISSING !== undefined)('two nodes', () => {
  const folder = emptyFolder()
  const cleaning = new AsyncDisposableStack()
  const nodes: RunningApp[] = []
  const listOf = async (app: RunningApp, token: string) => {
    const { body } = await ask(app, 'GET', '/node', { token })
    const list: { address: string; state: string; accounts: string[]; pbxs: string[]; answers: boolean }[] = JSON.parse(
      JSON.stringify(body.result),
    )
    return list
  }

  beforeAll(async () => {
    cleaning.defer(() => folder[Symbol.dispose]())
    const database = cleaning.use(await emptyDatabase())
    const env = { HOOKSWITCH_DATABASE_URL: database.url }
    for (const more of [
      [ADMIN, '--admin'],
      [USER, '--account', 'acme'],
    ])
      expect((await addUser(folder.path, env, more[0] ?? '', ...more.slice(1))).code).toBe(0)
    for (let n = 0; n < 2; n += 1) {
      const app = await startServe({ cwd: folder.path, env, args: ['--pbx', 'ami://any:any@127.0.0.1:1?name=office'] })
      cleaning.defer(async () => void (await app.stop()))
      nodes.push(app)
    }
  })
  afterAll(() => cleaning.disposeAsync())
  const [one, two] = [() => nodes[0] ?? nodesMissing(), () => nodes[1] ?? nodesMissing()]

  test('are listed by any of them with what each owns, to administrators alone', async () => {
    const token = await logIn(two(), ADMIN)
    await until('all is owned', async () => {
      const list = await listOf(two(), token)
      const owned = list.flatMap(({ accounts, pbxs }) => [...accounts, ...pbxs])
      return Bun.deepEquals(owned.toSorted(), ['acme', 'default', 'office'])
    })
    const list = await listOf(two(), token)
    expect(list.map(({ address, state, answers }) => [address, state, answers])).toEqual([
      [one().url, 'up', false],
      [two().url, 'up', true],
    ])
    const refused = await ask(one(), 'GET', '/node', { token: await logIn(one(), USER) })
    expect([refused.status, refused.body.result]).toEqual([403, []])
    expect((await ask(one(), 'GET', '/node')).status).toBe(401)
  })

  test.skipIf(CHROMIUM === undefined)('are on the page of an administrator (needs chromium)', async () => {
    const seen = await visit(await browserOfRun(), { viewport: { width: 1_360, height: 850 } })
    const { page } = seen
    const enter = async (email: string) => {
      await page.goto(one().url)
      await page.getByLabel('E-mail').fill(email)
      await page.getByLabel('Password').fill(PASSWORD)
      await page.getByRole('button', { name: 'Log in' }).click()
      await page.getByRole('heading', { name: 'Live', exact: true }).waitFor()
    }
    await enter(ADMIN)
    await page.getByRole('link', { name: 'PBXs' }).click()
    const card = page.getByRole('region', { name: 'Nodes' })
    await card.waitFor()
    const rows = card.getByRole('row')
    await until('both are there', async () => (await rows.count()) === 3)
    expect(await textOf(rows.nth(1))).toContain(`${one().url} · this one`)
    expect(await textOf(rows.nth(2))).toContain(two().url)
    const text = await textOf(card)
    for (const name of ['office', 'acme', 'default', 'maintenance']) expect(text).toContain(name)
    for (const width of [390, 1_360]) {
      await page.setViewportSize({ width, height: 850 })
      expect(await accessibilityFaults(page)).toEqual([])
      expect(await overflowOf(page)).toBe(0)
    }
    if (process.env.HOOKSWITCH_TEST_SHOTS !== undefined)
      await card.screenshot({ path: `${process.env.HOOKSWITCH_TEST_SHOTS}/nodes.png` })

    await two().stop('SIGKILL')
    await until('it is shown as dead, and the other owns all', async () => {
      const [mine, other] = [await textOf(rows.nth(1)), await textOf(rows.nth(2))]
      return ['office', 'acme', 'default', 'maintenance'].every((name) => mine.includes(name)) && other.includes('dead')
    })
    await page.evaluate(() => sessionStorage.clear())
    await enter(USER)
    expect(await page.getByRole('link', { name: 'PBXs' }).count()).toBe(0)
    await page.goto(`${one().url}/#/pbxs`)
    await page.getByText('administrator').first().waitFor()
    expect(await card.count()).toBe(0)
    expect(seen.faults).toEqual([])
    expect(seen.asked.filter((url) => new URL(url).origin !== one().url)).toEqual([])
    await page.context().close()
  })
})

const textOf = async (element: Locator) => (await element.textContent()) ?? ''

function nodesMissing(): never {
  throw new Error('the nodes were not started')
}
