import { useObservable } from '../lib/observable.ts'
import { THEMES, theme } from '../lib/theme.ts'
import { Icon, type IconName } from './icon.tsx'

const ICON = { system: 'system', light: 'sun', dark: 'moon' } as const satisfies Record<string, IconName>
const LABEL = { system: 'Theme of the system', light: 'Light theme', dark: 'Dark theme' } as const

/** Shows the choice of the theme. */
export function ThemeSwitch() {
  const chosen = useObservable(theme)
  return (
    <fieldset class="segmented small" aria-label="Theme">
      {THEMES.map((name) => (
        <label key={name} title={LABEL[name]}>
          <input
            type="radio"
            name="theme"
            value={name}
            checked={chosen === name}
            aria-label={LABEL[name]}
            onChange={() => theme.set(name)}
          />
          <Icon name={ICON[name]} />
        </label>
      ))}
    </fieldset>
  )
}
