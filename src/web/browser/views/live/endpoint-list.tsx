import { pluralize } from '../../lib/format.ts'
import type { PbxStatus } from '../../lib/resources.ts'

const KINDS = [
  ['trunks', 'Trunks'],
  ['phones', 'Phones'],
  ['undecided', 'Undecided'],
] as const

/**
 * Shows which endpoints of each PBX count as trunks and which as phones: they decide the direction of calls.
 */
export function EndpointList({ pbxs }: { pbxs: readonly PbxStatus[] }) {
  const known = pbxs.filter(({ endpoints }) => KINDS.some(([kind]) => endpoints[kind].length > 0))
  if (known.length === 0) return null
  return (
    <section class="card pbx-endpoints" aria-labelledby="pbx-endpoints">
      <header class="card-head">
        <h2 id="pbx-endpoints">Trunks and phones</h2>
      </header>
      {known.map(({ name, endpoints }) => (
        <details key={name}>
          <summary>
            <b>{name}</b>{' '}
            <span class="muted">
              {pluralize(endpoints.trunks.length, 'trunk')}, {pluralize(endpoints.phones.length, 'phone')}
              {endpoints.undecided.length === 0 ? '' : `, ${endpoints.undecided.length} undecided`}
            </span>
          </summary>
          <dl>
            {KINDS.map(([kind, title]) =>
              endpoints[kind].length === 0 ? null : (
                <div key={kind}>
                  <dt>{title}</dt>
                  <dd>{endpoints[kind].join(', ')}</dd>
                </div>
              ),
            )}
          </dl>
          <p class="muted">
            If one is wrong or undecided, name it in <code>trunks=</code> or <code>extensions=</code> of the PBX URL.
          </p>
        </details>
      ))}
    </section>
  )
}
