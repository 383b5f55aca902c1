import { keep, readKept } from './browser-storage.ts'
import { observable } from './observable.ts'

/** `system` follows the setting of the reader's device. */
export const THEMES = ['system', 'light', 'dark'] as const
type Theme = (typeof THEMES)[number]

const KEY = 'hookswitch.theme'

export const theme = observable<Theme>(readStoredTheme())

theme.subscribe(() => {
  keep('browser', KEY, theme.get())
  applyTheme()
})
applyTheme()

function readStoredTheme(): Theme {
  const text = readKept('browser', KEY)
  return THEMES.find((name) => name === text) ?? 'system'
}

function applyTheme(): void {
  const chosen = theme.get()
  if (chosen === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = chosen
}
