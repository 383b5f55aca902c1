import { observable } from './observable.ts'

/** `system` follows the setting of the reader's device. */
export const THEMES = ['system', 'light', 'dark'] as const
type Theme = (typeof THEMES)[number]

const KEY = 'hookswitch.theme'

export const theme = observable<Theme>(readStoredTheme())

theme.subscribe(() => {
  localStorage.setItem(KEY, theme.get())
  applyTheme()
})
applyTheme()

function readStoredTheme(): Theme {
  const text = localStorage.getItem(KEY)
  return THEMES.find((name) => name === text) ?? 'system'
}

function applyTheme(): void {
  const chosen = theme.get()
  if (chosen === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = chosen
}
