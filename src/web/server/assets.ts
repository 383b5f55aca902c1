import { basename } from 'node:path'
import docs from '../browser/docs.html'
import help from '../browser/help.html'
import page from '../browser/page.html'

/** One file of a page. `path` is the page's own path, or holds a hash of the content. */
export type Asset = {
  readonly path: string
  readonly type: string
  readonly isHtml: boolean
  read(): Promise<Uint8Array<ArrayBuffer>>
}

/** The pages, each with the path at which it is served. */
const PAGES = [
  { path: '/', bundle: page, source: '../browser/page.html' },
  { path: '/docs', bundle: docs, source: '../browser/docs.html' },
  { path: '/help', bundle: help, source: '../browser/help.html' },
] as const
type Page = (typeof PAGES)[number]

/**
 * Lists the files of all pages. The compiled executable contains them, named by the manifest of the HTML import, and
 * each is read at its first request; from the sources they are built now, in some ten milliseconds. Bun's own HTML
 * route is not used because it takes no headers of ours.
 */
export async function loadAssets(): Promise<Asset[]> {
  const assets = (await Promise.all(PAGES.map(filesOf))).flat()
  // All pages have the same icon.
  return [...new Map(assets.map((one) => [one.path, one])).values()]
}

async function filesOf(page: Page): Promise<Asset[]> {
  const embedded = page.bundle.files ?? []
  if (embedded.length === 0) return await fromSource(page)
  return embedded.map(({ path, headers }) =>
    asset(page, path, { type: headers['content-type'] ?? '', read: () => Bun.file(path).bytes() }),
  )
}

async function fromSource(page: Page): Promise<Asset[]> {
  const entry = new URL(page.source, import.meta.url).pathname
  const built = await Bun.build({ entrypoints: [entry], target: 'browser', publicPath: '/', minify: true })
  // A file that was built has no `bytes()`, although its type says so.
  const read = async (file: Blob) => new Uint8Array(await file.arrayBuffer())
  return built.outputs.map((file) => asset(page, file.path, { type: file.type, read: () => read(file) }))
}

function asset(page: Page, path: string, { type, read }: Pick<Asset, 'type' | 'read'>): Asset {
  const isHtml = path.endsWith('.html')
  return { path: isHtml ? page.path : `/${basename(path)}`, type, isHtml, read }
}
