import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useObservable } from '../lib/observable.ts'
import { THEMES, theme } from '../lib/theme.ts'
import { Segments } from './choice.tsx'
import { Icon, Logo } from './icon.tsx'

type ReadingPageProps = {
  /** The title of the page, behind the name of the product: `API`, `Help`. */
  name: string
  /** Where the link to the content goes. */
  contentHref: string
  search: string
  searchLabel: string
  onSearch: (search: string) => void
  contentsLabel: string
  contents: ComponentChildren
  /** Shown below the contents. */
  foot?: ComponentChildren
  children: ComponentChildren
}

/** Shows a page to read, with its contents and a search beside it; on a phone the contents are a menu. */
export function ReadingPage(props: ReadingPageProps) {
  const { name, contentHref, search, searchLabel, onSearch, contentsLabel, contents, foot, children } = props
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const close = () => setOpen(false)
    addEventListener('hashchange', close)
    return () => removeEventListener('hashchange', close)
  }, [])
  const isShown = isOpen || search.trim() !== ''
  return (
    <div class="docs">
      <a class="skip" href={contentHref}>
        Skip to the content
      </a>
      <header class={isShown ? 'docs-nav open' : 'docs-nav'}>
        <a class="brand" href="/" aria-label={`Hookswitch ${name}, back to the page`}>
          <Logo />
          <span>Hookswitch {name}</span>
        </a>
        <label class="hidden" for="search">
          {searchLabel}
        </label>
        <input
          id="search"
          type="search"
          placeholder={searchLabel}
          value={search}
          onInput={(event) => onSearch(event.currentTarget.value)}
        />
        <button
          type="button"
          class="button docs-menu"
          aria-expanded={isShown}
          aria-controls="contents"
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name="list" />
          {contentsLabel}
        </button>
        <nav id="contents" aria-label={contentsLabel}>
          {contents}
        </nav>
        {foot}
        <ThemeChoice />
      </header>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
    </div>
  )
}

const THEME_TEXTS = { system: 'System', light: 'Light', dark: 'Dark' } as const

function ThemeChoice() {
  return (
    <Segments
      label="Theme"
      isSmall
      value={useObservable(theme)}
      options={THEMES.map((name) => [name, THEME_TEXTS[name]] as const)}
      onChange={(name) => theme.set(THEMES.find((one) => one === name) ?? 'system')}
    />
  )
}
