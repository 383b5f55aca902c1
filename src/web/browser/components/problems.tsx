import { formatDateTime, pluralize } from '../lib/format.ts'
import type { Problem } from '../lib/problems.ts'
import { serverNowMs } from '../lib/server-clock.ts'
import { useIsAdmin } from '../lib/user.ts'
import { TryNow } from './try-now.tsx'

/** More would push everything else off the screen. */
const MAX_SHOWN = 3

/** Shows everything that is wrong in one banner: what, since when, why, and what to do. */
export function Problems({ problems }: { problems: readonly Problem[] }) {
  const isAdmin = useIsAdmin()
  if (problems.length === 0) return null
  const first = problems.flatMap(({ since }) => since ?? []).sort()[0]
  const others = problems.slice(MAX_SHOWN)
  return (
    <section class="wrong" role="alert" aria-label="What is wrong">
      <p>
        {pluralize(problems.length, 'problem')}
        {first === undefined
          ? ''
          : `, ${problems.length === 1 ? '' : 'the first '}since ${formatDateTime(first, serverNowMs())}`}
      </p>
      <ul>
        {problems.slice(0, MAX_SHOWN).map(({ key, title, what, advice, href, action, isForAdmins, triedUrl }) => (
          <li key={key}>
            <div>
              <p>
                <b>
                  <bdi>{title}</bdi>
                </b>{' '}
                <span>{what}</span>
              </p>
              <p>
                <span>{advice}</span>
              </p>
            </div>
            <div class="actions">
              {triedUrl === null ? null : <TryNow url={triedUrl} />}
              {isForAdmins && isAdmin !== true ? null : (
                <a class="button" href={href}>
                  {action}
                </a>
              )}
            </div>
          </li>
        ))}
        {others.length === 0 ? null : (
          <li>
            <p>and {others.length} more</p>
            <div class="actions">
              <a
                class="button"
                href={others[0]?.key.startsWith('pbx') === true ? '#/pbxs' : '#/webhooks?state=trouble'}
              >
                Show all
              </a>
            </div>
          </li>
        )}
      </ul>
    </section>
  )
}
