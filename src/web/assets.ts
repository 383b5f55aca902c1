import { basename } from 'node:path'
import bundle from './browser/page.html'

/** One file of the page, ready to be sent. `html` is the page itself; every other name holds a hash of its content. */
export type Asset = { name: string; type: string; bytes: Uint8Array<ArrayBuffer>; isHtml: boolean }

/**
 * Loads the page's files. The compiled executable contains them, named by the manifest of the HTML import; from the
 * sources they are built now, in some ten milliseconds. Bun's own HTML route is not used because it takes no headers of
 * ours.
 */
export async function loadAssets(): Promise<Asset[]> {
  const embedded = bundle.files ?? []
  return embedded.length > 0 ? await Promise.all(embedded.map(fromExecutable)) : await fromSource()
}

async function fromExecutable({ path, headers }: { path: string; headers: Record<string, string> }): Promise<Asset> {
  return asset(path, headers['content-type'] ?? '', await Bun.file(path).bytes())
}

async function fromSource(): Promise<Asset[]> {
  const entry = new URL('./browser/page.html', import.meta.url).pathname
  const built = await Bun.build({ entrypoints: [entry], target: 'browser', publicPath: '/', minify: true })
  return await Promise.all(
    built.outputs.map(async (file) => asset(file.path, file.type, new Uint8Array(await file.arrayBuffer()))),
  )
}

function asset(path: string, type: string, bytes: Uint8Array<ArrayBuffer>): Asset {
  return { name: basename(path), type, bytes, isHtml: path.endsWith('.html') }
}
