import type { EventBody } from '../../../../events/bodies.ts'
import { AskAdmin } from '../../components/ask-admin.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { GuideLink } from '../../components/guide-link.tsx'
import { Icon } from '../../components/icon.tsx'
import { PBX_PRODUCTS, PRODUCT_NAMES } from '../../lib/pbx-products.ts'
import type { Overview } from '../../lib/resources.ts'
import { routeHref } from '../../lib/router.ts'
import { useIsAdmin, useUser } from '../../lib/user.ts'

/** A shortened body, as the guide has it. */
const SAMPLE = {
  time: '2026-11-28T13:06:58.187204Z',
  data: {
    name: 'dial_started' satisfies EventBody['data']['name'],
    pbx: 'office',
    call: { direction: 'inbound', from: { number: '+442079460958', name: 'Dilnoza Karimova' }, state: 'ringing' },
    stage: { kind: 'user', target: '101', name: 'Gulnora Ergasheva' },
  },
}

/** Shows what to do first, while there is no PBX: it goes away by itself. */
export function FirstRun({ now }: { now: Overview }) {
  const user = useUser()
  const isAdmin = useIsAdmin()
  if (isAdmin === false) return <AskAdmin title="Live" />
  const [firstName = ''] = (user?.name ?? '').split(' ')
  return (
    <div class="view">
      <header class="head">
        <h1>
          Welcome{firstName === '' ? '' : ', '}
          <bdi>{firstName}</bdi>
        </h1>
        <p class="explanation">Three steps, some 10 minutes. This list goes away by itself.</p>
      </header>
      <div class="columns detail">
        <div class="steps">
          <section class="step">
            <h2>Connect a PBX</h2>
            <div>
              <p>
                Hookswitch reads its events and changes nothing. You need a shell on the PBX, or someone who has one.
              </p>
              <div class="tiles pairs">
                {PRODUCT_NAMES.map((name) => (
                  <a key={name} class="tile" href={routeHref('connect', null, { product: name })}>
                    <b>{PBX_PRODUCTS[name].title}</b>
                    <Icon name="next" />
                    <small>{PBX_PRODUCTS[name].hint}</small>
                  </a>
                ))}
              </div>
              <p class="hint">
                No PBX at hand? <code>hookswitch demo</code> shows all of this with recorded calls.
              </p>
            </div>
          </section>
          <section class="step later">
            <h2>Make a call</h2>
            <div>
              <p>It appears here: who rang, who answered, how it ended.</p>
            </div>
          </section>
          <section class={now.webhooks.length > 0 ? 'step done' : 'step later'}>
            <h2>Tell others of it</h2>
            <div>
              <p>A signed POST to your own address, an entry in your CRM, or a line in Slack.</p>
              <p class="actions">
                <a class="button" href={routeHref('webhooks', 'new')}>
                  Add a webhook
                </a>
              </p>
            </div>
          </section>
        </div>
        <section aria-labelledby="sample">
          <header class="section-head">
            <h2 id="sample">What your receiver will get</h2>
          </header>
          <CodeBlock
            text={JSON.stringify(SAMPLE, null, 2)}
            label="a shortened event"
            head="while 101 rings, some 30 ms after the PBX says so"
          />
          <p class="hint">
            Shortened. <GuideLink guide="events">All events and fields</GuideLink>
          </p>
        </section>
      </div>
    </div>
  )
}
