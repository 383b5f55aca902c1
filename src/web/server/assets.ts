import { basename } from 'node:path'
import docs from '../browser/docs.html'
import help from '../browser/help.html'
import page from '../browser/page.html'
import pop from '../browser/pop.html'

/** One file of a page. `path` is the page's own path, or holds a hash of the content. */
export type Asset = {
  readonly path: string
  readonly type: string
  readonly isHtml: boolean
  read(): Promise<Uint8Array<ArrayBuffer>>
}

/** The one page that may be shown in a frame. */
export const POP_PATH = '/pop'

/** The pages, each with the path at which it is served. */
const PAGES = [
  { path: '/', bundle: page, source: '../browser/page.html' },
  { path: '/docs', bundle: docs, source: '../browser/docs.html' },
  { path: '/help', bundle: help, source: '../browser/help.html' },
  { path: POP_PATH, bundle: pop, source: '../browser/pop.html' },
] as const
type Page = (typeof PAGES)[number]

/**
 * Lists the files of all pages. The compiled executable contains them, named by the manifest of the HTML import, and
 * each is read at its first request; from the sources they are built now, in some ten milliseconds. Bun's own HTML
 * route is not used because it takes no headers of ours.
 */
export async function loadAssets(): Promise<Asset[]> {
  const files = (await Promise.all(PAGES.map(filesOf))).flat()
  // All pages have the same icon.
  const assets = new Map(files.map((one) => [one.path, one]))
  return [...assets.values()].map((one) => (one.isHtml ? { ...one, read: () => withPreloads(one, assets) } : one))
}

const SCRIPT = /<script[^>]* src="([^"]+)"/g
const IMPORT = /(?:from|import)\s*"\.?(\/[\w.-]+\.js)"/g

/** Returns the HTML of a page with a link to each script that its scripts import, so that all are read at once. */
async function withPreloads(page: Asset, assets: ReadonlyMap<string, Asset>): Promise<Uint8Array<ArrayBuffer>> {
  const html = new TextDecoder().decode(await page.read())
  const scripts = new Set(pathsIn(html, SCRIPT))
  const own = scripts.size
  // The iteration includes scripts that are added meanwhile.
  for (const path of scripts) {
    const bytes = await assets.get(path)?.read()
    for (const imported of pathsIn(new TextDecoder().decode(bytes), IMPORT)) scripts.add(imported)
  }
  const links = [...scripts].slice(own).map((path) => `<link rel="modulepreload" crossorigin href="${path}">`)
  return new TextEncoder().encode(html.replace('</head>', `${links.join('')}</head>`))
}

const pathsIn = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, path = '']) => path)

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
