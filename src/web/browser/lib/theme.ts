import { cell } from './state.ts'

/** `system` follows the reader's own setting. */
export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const KEY = 'hookswitch.theme'

function stored(): Theme {
  const text = localStorage.getItem(KEY)
  return THEMES.find((theme) => theme === text) ?? 'system'
}

export const theme = cell<Theme>(stored())

function apply(): void {
  const chosen = theme.get()
  if (chosen === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = chosen
}

theme.watch(() => {
  localStorage.setItem(KEY, theme.get())
  apply()
})
apply()

/** A colour of the style sheet as the canvas needs it: resolved for the theme that is on. */
export function themeColour(name: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(--${name})`
  document.body.append(probe)
  const colour = getComputedStyle(probe).color
  probe.remove()
  return colour
}
