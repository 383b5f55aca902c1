import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dir, '../..')
const GUIDES = 'src/docs'

type Guide = { readonly path: string; readonly text: string }

/** README.md and the guides, with their paths below the project. */
export const GUIDE_FILES: readonly Guide[] = [
  'README.md',
  ...readdirSync(join(ROOT, GUIDES))
    .filter((name) => name.endsWith('.md'))
    .toSorted()
    .map((name) => `${GUIDES}/${name}`),
].map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))

/** The text of all of them. */
export const GUIDE_TEXT = GUIDE_FILES.map(({ text }) => text).join('\n')
