import { useEffect, useState } from 'preact/hooks'
import { version } from '../../../../../package.json'
import { GUIDES, type Guide } from '../../../../docs/guides.ts'
import { Markdown } from '../../components/markdown.tsx'
import { ReadingPage } from '../../components/reading-page.tsx'
import { type GuideSection, searchGuides, sectionsOf } from '../../lib/guide-search.ts'
import { useObservable } from '../../lib/observable.ts'
import { currentRoute, routeHref } from '../../lib/router.ts'

/** Shows the guides: `#/receive/options` is a section of one. */
export function HelpView() {
  const route = useObservable(currentRoute)
  const [search, setSearch] = useState('')
  const guide = GUIDES.find(({ name }) => name === route.view) ?? GUIDES[0]
  useEffect(() => {
    document.title = `${guide?.title ?? 'Help'} · Hookswitch Help`
    const heading = route.id === null ? null : document.getElementById(route.id)
    // On a phone the guide is below the contents: a guide that was chosen there comes into view.
    const chosen = location.hash === '' ? null : document.getElementById('content')
    const target = heading ?? chosen
    if (target !== null) target.scrollIntoView()
  }, [guide, route.id])
  return (
    <ReadingPage
      name="Help"
      contentHref={routeHref(guide?.name ?? '')}
      search={search}
      searchLabel="Search the guides"
      onSearch={setSearch}
      contentsLabel="Guides"
      contents={search.trim() === '' ? <Contents open={guide} /> : <Found search={search} />}
      foot={<small class="dim">Version {version}</small>}
    >
      {guide === undefined ? null : (
        <article class="guide" key={guide.name}>
          <Markdown text={guide.text} hrefOf={hrefOf} />
        </article>
      )}
    </ReadingPage>
  )
}

/** Returns the address of a link of a guide: another guide, a section of it, or another site. */
function hrefOf(target: string): string | null {
  if (/^https?:\/\//.test(target)) return target
  const { 1: name, 2: anchor } = /^(?:([\w-]+)\.md)?(?:#(.+))?$/.exec(target) ?? []
  const guide = name ?? currentRoute.get().view
  if (!GUIDES.some((one) => one.name === guide)) return null
  return routeHref(guide, anchor ?? null)
}

function Contents({ open }: { open: Guide | undefined }) {
  return (
    <ul>
      {GUIDES.map((guide) => (
        <li key={guide.name}>
          <a href={routeHref(guide.name)} {...(guide === open ? { 'aria-current': 'page' as const } : {})}>
            {guide.title}
          </a>
          {guide === open ? <SectionLinks sections={sectionsOf(guide).slice(1)} /> : null}
        </li>
      ))}
    </ul>
  )
}

function SectionLinks({ sections }: { sections: readonly GuideSection[] }) {
  return (
    <ul>
      {sections.map(({ guide, title, anchor }) => (
        <li key={anchor} class="help-section">
          <a href={routeHref(guide.name, anchor)}>{title}</a>
        </li>
      ))}
    </ul>
  )
}

function Found({ search }: { search: string }) {
  const found = searchGuides(GUIDES, search)
  if (found.length === 0) return <p class="dim">No guide has “{search}”.</p>
  return (
    <ul>
      {found.map(({ guide, title, anchor }) => (
        <li key={`${guide.name} ${anchor}`}>
          <a href={routeHref(guide.name, anchor)}>
            <span>
              {title}
              {anchor === null ? null : <small class="dim"> in {guide.title}</small>}
            </span>
          </a>
        </li>
      ))}
    </ul>
  )
}
