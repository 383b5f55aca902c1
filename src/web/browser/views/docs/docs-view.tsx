import { Fragment } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { version } from '../../../../../package.json'
import { InlineText } from '../../components/inline-text.tsx'
import { ReadingPage } from '../../components/reading-page.tsx'
import { type ApiDocument, type ApiOperation, endpointsByTag } from '../../lib/api-document.ts'
import { DocsLogin } from './docs-login.tsx'
import { EndpointSection } from './endpoint-section.tsx'
import { EventSection } from './event-section.tsx'
import { SchemaFields } from './schema-fields.tsx'

/** Shows the whole API document: operations with forms to try them, events, and schemas. */
export function DocsView({ document: api }: { document: ApiDocument }) {
  const [search, setSearch] = useState('')
  const [isWide] = useState(() => matchMedia('(min-width: 821px)').matches)
  const groups = [...endpointsByTag(api)]
  useEffect(() => {
    // The part of the page that the address names exists only now.
    document.getElementById(location.hash.slice(1))?.scrollIntoView()
  }, [])
  return (
    <ReadingPage
      name="API"
      contentHref="#content"
      search={search}
      searchLabel="Search"
      onSearch={setSearch}
      contentsLabel="Contents"
      contents={<Contents api={api} groups={groups} search={search} isOpen={isWide} />}
    >
      <About api={api} />
      {groups.map(([tag, endpoints]) => (
        <section class="docs-group" key={tag} aria-label={tag}>
          <h2>{tag}</h2>
          {endpoints.map((endpoint) => (
            <EndpointSection key={endpoint.operationId} endpoint={endpoint} document={api} />
          ))}
        </section>
      ))}
      <section class="docs-group" aria-label="Call events">
        <h2>Call events</h2>
        <p class="docs-lead">
          POST requests that your receivers get. <a href="/docs/events">The event catalog</a> has a whole body of each
          kind on one page; <a href="/docs/bodies">the catalog of request bodies</a> has an example of each preset.
        </p>
        {Object.entries(api.webhooks).map(([name, { post }]) => (
          <EventSection key={name} name={name} operation={post} document={api} />
        ))}
      </section>
      <section class="docs-group" aria-label="Schemas">
        <h2>Schemas</h2>
        {Object.entries(api.components.schemas).map(([name, schema]) => (
          <section class="doc-endpoint" key={name} id={`schema-${name}`} aria-labelledby={`schema-${name}-title`}>
            <h3 id={`schema-${name}-title`}>
              <code>{name}</code>
            </h3>
            <SchemaFields schema={schema} />
          </section>
        ))}
      </section>
    </ReadingPage>
  )
}

function About({ api: { info } }: { api: ApiDocument }) {
  return (
    <>
      <h1>
        {info.title} API <small class="dim">{version}</small>
      </h1>
      {info.description.split('\n\n').map((paragraph) => (
        <p class="docs-lead" key={paragraph}>
          <InlineText text={paragraph} />
        </p>
      ))}
      <p class="docs-lead">
        The document itself is at <a href="/openapi.json">/openapi.json</a> (OpenAPI 3.1), for client generators.
      </p>
      <DocsLogin />
    </>
  )
}

type ContentsProps = {
  api: ApiDocument
  groups: readonly (readonly [tag: string, endpoints: readonly ApiOperation[]])[]
  search: string
  /** Whether the groups are unfolded at first. */
  isOpen: boolean
}
type Entry = { readonly id: string; readonly text: string; readonly method?: string; readonly words: string }

function Contents({ api, groups, search, isOpen }: ContentsProps) {
  const wanted = search.trim().toLowerCase()
  const named = (prefix: string) => (name: string) => ({ id: `${prefix}-${name}`, text: name, words: name })
  const all: [string, Entry[]][] = [
    ...groups.map(([tag, endpoints]): [string, Entry[]] => [tag, endpoints.map(entryOf)]),
    ['Call events', Object.keys(api.webhooks).map(named('event'))],
    ['Schemas', Object.keys(api.components.schemas).map(named('schema'))],
  ]
  const shown = all
    .map(([title, entries]) => [title, entries.filter(({ words }) => words.toLowerCase().includes(wanted))] as const)
    .filter(([, entries]) => entries.length > 0)
  if (shown.length === 0) return <p class="dim">Nothing has “{search}” in its name.</p>
  return (
    <>
      {shown.map(([title, entries]) => (
        <details key={title} open={(isOpen && title !== 'Schemas') || wanted !== ''}>
          <summary>{title}</summary>
          <ul>
            {entries.map(({ id, text, method }) => (
              <li key={id}>
                <a href={`#${id}`}>
                  {method === undefined ? null : <b class={`doc-method ${method.toLowerCase()}`}>{method}</b>}
                  <span>{breakable(text)}</span>
                </a>
              </li>
            ))}
          </ul>
        </details>
      ))}
    </>
  )
}

const entryOf = ({ operationId, method, path, summary = '' }: ApiOperation): Entry => ({
  id: operationId,
  text: path,
  method,
  words: `${method} ${path} ${summary}`,
})

/** Lets a path break behind its slashes. */
const breakable = (text: string) =>
  text.split('/').map((part, at) => (
    <Fragment key={`${at} ${part}`}>
      {at === 0 ? '' : '/'}
      {at < 2 ? null : <wbr />}
      {part}
    </Fragment>
  ))
