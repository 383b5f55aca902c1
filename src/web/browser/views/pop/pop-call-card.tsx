import { useEffect, useState } from 'preact/hooks'
import { DirectionIcon, State } from '../../components/state.tsx'
import { Time } from '../../components/time.tsx'
import { errorText, request, withQuery } from '../../lib/api.ts'
import { callableNumber } from '../../lib/call-from-phone.ts'
import { describeLiveCall, describeOutcome } from '../../lib/call-words.ts'
import { contactHref, partyTexts } from '../../lib/contact.ts'
import { formatStopwatch } from '../../lib/format.ts'
import { useObservable } from '../../lib/observable.ts'
import { numberOf, otherParty } from '../../lib/pop-calls.ts'
import { mayCallFromPop } from '../../lib/pop-connection.ts'
import { popContacts, withContact } from '../../lib/pop-contacts.ts'
import type { Call, CallItem, Page } from '../../lib/resources.ts'
import { useServerNow } from '../../lib/server-clock.ts'
import { PopDial } from './pop-dial.tsx'

type PopCallCardProps = { call: Call; extension: string | null; isOver?: boolean }

/** Shows one call: the other party with a link to the contact, the state, and the last calls with the number. */
export function PopCallCard({ call, extension, isOver = false }: PopCallCardProps) {
  const given = otherParty(call, extension)
  const party = withContact(given, useObservable(popContacts))
  const mayCall = useObservable(mayCallFromPop)
  const { main, beside } = partyTexts(party)
  const href = contactHref(party)
  const number = callableNumber(party.extension ?? party.number)
  return (
    <article
      class={isOver ? 'caller-call over' : 'caller-call'}
      aria-label={isOver ? `Last call: ${main}` : `Call: ${main}`}
    >
      <div class="caller-who">
        <h2>
          <bdi>{main}</bdi>
        </h2>
        <DirectionIcon {...call} />
      </div>
      {beside.map((text) => (
        <p key={text} class="soft">
          <bdi>{text}</bdi>
        </p>
      ))}
      <p class="caller-state">{isOver ? <Outcome call={call} /> : <Progress call={call} extension={extension} />}</p>
      {href === null && isOver && !mayCall ? null : (
        <div class="actions">
          {href === null ? null : (
            <a class="button primary" href={href} target="_blank" rel="noopener noreferrer">
              Open in the CRM
            </a>
          )}
          {mayCall && !isOver ? <HangUp call={call} /> : null}
        </div>
      )}
      {mayCall && isOver && number !== null ? (
        <PopDial number={number} name={main === number ? null : main} extension={extension} />
      ) : null}
      <LastCalls call={call} number={numberOf(given)} />
    </article>
  )
}

function Progress({ call, extension }: { call: Call; extension: string | null }) {
  const nowMs = useServerNow()
  const isTalk = call.state === 'answered'
  const since = isTalk ? call.answered_at : call.started_at
  const described = describeLiveCall(call, [], undefined)
  // The stream of one extension does not show the other phones that ring: a queue's caller is waiting.
  const { tone, text } = isTalk || extension === null ? described : ({ tone: 'ring', text: 'rings' } as const)
  return (
    <>
      <State tone={tone}>
        <bdi>{isTalk && extension !== null ? 'talks' : text}</bdi>
      </State>
      <span class="dim">{since === null ? '' : formatStopwatch((nowMs - Date.parse(since)) / 1_000)}</span>
      {call.queue === null ? null : (
        <span class="dim">
          queue <bdi>{call.queue.name}</bdi>
        </span>
      )}
    </>
  )
}

function Outcome({ call }: { call: Call }) {
  return (
    <>
      <OutcomeState call={call} />
      <span class="dim">
        <Time at={call.ended_at ?? call.started_at} />
      </span>
    </>
  )
}

/** Shows the end of a call, or the party that goes on with it elsewhere. */
function OutcomeState({ call }: { call: Call }) {
  const { tone, text } = call.state === 'ended' ? describeOutcome(call) : describeLiveCall(call, [], undefined)
  const isByName = call.state === 'ended' && call.result === 'answered' && text !== 'answered'
  return (
    <State tone={tone}>
      <bdi>{isByName ? `answered by ${text}` : text}</bdi>
    </State>
  )
}

function HangUp({ call }: { call: Call }) {
  const [error, setError] = useState<string | null>(null)
  const hangUp = async () => {
    const response = await request('DELETE', `/call/${call.id}`)
    setError(response.ok ? null : errorText(response))
  }
  return (
    <>
      <button type="button" class="button danger" onClick={() => void hangUp()}>
        Hang up
      </button>
      {error === null ? null : (
        <p class="error" role="alert">
          {error}
        </p>
      )}
    </>
  )
}

/** Shows the last three calls with a number; empty without a number. */
function LastCalls({ call: { id }, number }: { call: Call; number: string | null }) {
  const [calls, setCalls] = useState<readonly CallItem[] | null>(null)
  useEffect(() => {
    if (number === null) return
    let isOver = false
    void request<Page<CallItem>>('GET', withQuery('/call', { number, limit: '3' })).then((response) => {
      if (response.ok && !isOver) setCalls(response.result.items)
    })
    return () => {
      isOver = true
    }
  }, [number])
  const others = calls?.filter((one) => one.id !== id) ?? []
  if (calls === null || others.length === 0) return null
  return (
    <ul class="caller-last" aria-label="The last calls with this number">
      {others.map((one) => (
        <li key={one.id}>
          <DirectionIcon {...one} />
          <Time at={one.started_at ?? one.ended_at} />
          <OutcomeState call={one} />
        </li>
      ))}
    </ul>
  )
}
