import { useEffect, useState } from 'preact/hooks'
import { version } from '../../../../../package.json'
import { FormField } from '../../components/form-field.tsx'
import { Icon, Logo } from '../../components/icon.tsx'
import { partyTexts } from '../../lib/contact.ts'
import { useObservable } from '../../lib/observable.ts'
import { chooseExtension, popNumber } from '../../lib/pop-address.ts'
import { isRingingHere, otherParty } from '../../lib/pop-calls.ts'
import { mayCallFromPop, popCalls, popState } from '../../lib/pop-connection.ts'
import { popContacts, withContact } from '../../lib/pop-contacts.ts'
import { askForNotices, noticePermission } from '../../lib/pop-notice.ts'
import { PopCallCard } from './pop-call-card.tsx'
import { PopDial } from './pop-dial.tsx'

const TITLE = 'Calls · Hookswitch'

/** Shows who calls an extension now; `null`: who calls in the account. */
export function PopView({ extension }: { extension: string | null }) {
  const { live, last } = useObservable(popCalls)
  const state = useObservable(popState)
  const ringing = live.find((call) => isRingingHere(call, extension))
  const contacts = useObservable(popContacts)
  const caller = ringing === undefined ? null : partyTexts(withContact(otherParty(ringing, extension), contacts)).main
  useTitle(caller)
  return (
    <main class="who-calls">
      <header class="caller-head" title={`Hookswitch ${version}`}>
        <Logo />
        <h1>
          {extension === null ? (
            'Calls'
          ) : (
            <>
              Calls of <bdi>{extension}</bdi>
            </>
          )}
        </h1>
        <NoticeButton />
      </header>
      {typeof state === 'string' ? null : (
        <p class="note warn" role="status">
          <Icon name="alert" />
          <span>{state.problem}</span>
        </p>
      )}
      <p class="hidden" role="status">
        {caller === null ? '' : `${caller} calls`}
      </p>
      <WantedNumber extension={extension} />
      {live.map((call) => (
        <PopCallCard key={call.id} call={call} extension={extension} />
      ))}
      {live.length > 0 || state !== 'up' ? null : <p class="caller-quiet">No call now. Who calls appears here.</p>}
      {last === null ? null : <PopCallCard key={last.id} call={last} extension={extension} isOver />}
    </main>
  )
}

/** Shows the caller in the title of the window, for a window behind another one. */
function useTitle(caller: string | null): void {
  useEffect(() => {
    document.title = caller === null ? TITLE : `${caller} calls`
  }, [caller])
}

function NoticeButton() {
  if (useObservable(noticePermission) !== 'default') return null
  return (
    <button
      type="button"
      class="button small push"
      title="The browser shows who calls while this page is in the background."
      onClick={() => void askForNotices()}
    >
      Notify me
    </button>
  )
}

/** Shows the number of a link. Nothing is dialled without a press of its button. */
function WantedNumber({ extension }: { extension: string | null }) {
  const number = useObservable(popNumber)
  const mayCall = useObservable(mayCallFromPop)
  if (number === null) return null
  return (
    <section class="caller-call" aria-label="A number to call">
      <div class="caller-who">
        <h2>
          <bdi>{number}</bdi>
        </h2>
        <button type="button" class="button quiet small only" aria-label="Close" onClick={() => popNumber.set(null)}>
          <Icon name="cross" />
        </button>
      </div>
      {mayCall ? (
        <PopDial key={number} number={number} name={null} extension={extension} />
      ) : (
        <p class="hint">No calls can be made from here.</p>
      )}
    </section>
  )
}

/** Asks a person who logged in for the extension: all calls of the account would be too many. */
export function ChooseExtension() {
  const [extension, setExtension] = useState('')
  return (
    <div class="login">
      <main>
        <div class="brand">
          <Logo />
          <h1>Who calls</h1>
        </div>
        <form
          class="stack tight"
          onSubmit={(event) => {
            event.preventDefault()
            if (extension.trim() !== '') chooseExtension(extension.trim())
          }}
        >
          <FormField
            label="Your extension"
            name="extension"
            value={extension}
            onInput={setExtension}
            placeholder="101"
            hint="This page then shows who calls it. The address of the page has it, for a bookmark."
            autoFocus
            required
          />
          <button type="submit" class="button primary">
            Show its calls
          </button>
        </form>
      </main>
    </div>
  )
}
