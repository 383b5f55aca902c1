import type { VNode } from 'preact'
import { useId, useState } from 'preact/hooks'
import { FILTER_KEYS, FILTER_NAMES } from '../../../../events/filter.ts'
import type { FieldError } from '../../../../lib/fault.ts'
import { TOPIC_NAMES } from '../../../../outbound/mqtt-url.ts'
import { Segments } from '../../components/choice.tsx'
import { Fold } from '../../components/fold.tsx'
import { CheckField, FieldErrors, FormField } from '../../components/form-field.tsx'
import { InlineText } from '../../components/inline-text.tsx'
import {
  EVENT_GROUPS,
  type EventChoice,
  PROPOSALS,
  type Proposal,
  proposalOf,
  proposedEvents,
} from '../../lib/event-choices.ts'
import { urlWithoutUser } from '../../lib/format.ts'
import { filterOf, type OptionsForm } from '../../lib/options-form.ts'
import type { WebhookForm } from '../../lib/webhook-form.ts'
import { AuthorizationFold } from './authorization-fold.tsx'
import { BodyPart } from './body-part.tsx'
import { HeaderLines } from './header-lines.tsx'
import { TlsFold } from './tls-fold.tsx'

type FieldsProps = {
  readonly form: WebhookForm
  readonly errors: readonly FieldError[]
  readonly isMqtt: boolean
  /** Examples of a name and an address. */
  readonly examples?: { readonly name: string; readonly url: string }
  /** The part that is shown instead of a body, where a flow makes the requests. */
  readonly requests?: VNode
  readonly onChange: (form: WebhookForm) => void
}

/** Shows the settings of a webhook. */
export function WebhookFields({ form, errors, isMqtt, examples, requests, onChange }: FieldsProps) {
  const { options } = form
  const setOptions = (changed: OptionsForm) => onChange({ ...form, options: changed })
  return (
    <>
      <div class="part fields">
        <FormField
          label="Name"
          name="name"
          value={options.name}
          onInput={(name) => setOptions({ ...options, name })}
          errors={errors}
          placeholder={`for people, such as ${examples?.name ?? 'CRM'}`}
        />
        <AddressField
          form={form}
          errors={errors}
          isMqtt={isMqtt}
          example={examples?.url ?? (isMqtt ? 'mqtts://host/calls/{event}' : 'https://crm.example.com/calls')}
          onChange={onChange}
        />
      </div>
      <EventPart form={form} errors={errors} onChange={onChange} />
      <FilterFold options={options} errors={errors} onChange={setOptions} />
      {options.others.flow == null ? <BodyPart form={form} errors={errors} onChange={setOptions} /> : requests}
      <Fold
        title="Headers"
        value={options.headers.map(({ name }) => name.toLowerCase()).join(', ') || 'none'}
        isOpen={errors.some(({ path }) => path.startsWith('/headers'))}
      >
        <HeaderLines
          headers={options.headers}
          errors={errors}
          onChange={(headers) => setOptions({ ...options, headers })}
        />
      </Fold>
      {/* A flow has an authorization of its own, and a broker has none. */}
      {(isMqtt || options.others.flow != null) && options.authorization.kind === 'none' ? null : (
        <AuthorizationFold
          form={options.authorization}
          stored={options.others.authorization?.kind ?? 'none'}
          errors={errors}
          onChange={(authorization) => setOptions({ ...options, authorization })}
        />
      )}
      <TlsFold
        form={options.tls}
        hasKey={options.others.tls?.certificate != null}
        errors={errors}
        onChange={(tls) => setOptions({ ...options, tls })}
      />
      <OrderFold options={options} errors={errors} isMqtt={isMqtt} onChange={setOptions} />
    </>
  )
}

function AddressField({ form, errors, isMqtt, example, onChange }: FieldsProps & { example: string }) {
  const id = useId()
  const [isEdited, setEdited] = useState(false)
  const wrong = errors.filter(({ path }) => path === '/url' || path === '')
  const shown = urlWithoutUser(form.url)
  // An address with a password is hidden until it is edited; an MQTT topic is decoded until then.
  const isHidden = /^\w+:\/\/[^/?#]*@/.test(form.url)
  return (
    <div class="field">
      <label for={id}>Address</label>
      <input
        id={id}
        name="url"
        type="url"
        class="mono"
        aria-invalid={wrong.length > 0}
        aria-describedby={`${id}-hint`}
        placeholder={example}
        spellcheck={false}
        autoComplete="off"
        // A reader who edits the address needs its password and its own spelling; others do not. A text that
        // hides the password must not be typed into: the password would be lost.
        value={isEdited ? form.url : shown}
        readOnly={!isEdited && shown !== form.url}
        onFocus={(event) => {
          event.currentTarget.value = form.url
          setEdited(true)
        }}
        onBlur={() => setEdited(false)}
        onInput={(event) => onChange({ ...form, url: event.currentTarget.value.trim() })}
      />
      <div id={`${id}-hint`}>
        <FieldErrors errors={wrong} />
        {isHidden && !isEdited ? <p class="hint">Its user and password are shown while it is edited.</p> : null}
        {isMqtt && wrong.length === 0 ? (
          <p class="hint">
            The path is the topic. It may have {TOPIC_NAMES.map((name) => `{${name}}`).join(', ')}. Each event is
            published with QoS 1.
          </p>
        ) : null}
      </div>
    </div>
  )
}

const PROPOSAL_TEXTS = { pop: 'Screen pop', log: 'Call log', call: 'Most of a call', own: 'Own choice' } as const

function EventPart({ form, errors, onChange }: Omit<FieldsProps, 'isMqtt'>) {
  const { chosen } = form
  const choose = (next: readonly EventChoice[]) => onChange({ ...form, chosen: next })
  const group = ({ title, choices }: (typeof EVENT_GROUPS)[number]) => (
    <fieldset key={title}>
      <legend>{title}</legend>
      {choices.map(([name, text, hint]) => (
        <label key={name} class="check">
          <input
            type="checkbox"
            checked={chosen.includes(name)}
            onChange={(event) =>
              choose(event.currentTarget.checked ? [...chosen, name] : chosen.filter((one) => one !== name))
            }
          />
          <span>
            {text}
            <small>{hint}</small>
          </span>
        </label>
      ))}
    </fieldset>
  )
  const [ofCall, ofDials, ofStates] = EVENT_GROUPS
  return (
    <div class="part">
      <div class="section-head">
        <h3>Events</h3>
        <span class="push">
          <Segments
            label="Proposals"
            isSmall
            value={proposalOf(chosen)}
            options={PROPOSALS.map((name) => [name, PROPOSAL_TEXTS[name]] as const)}
            // The options are these names.
            onChange={(name) => choose(proposedEvents(name as Proposal, chosen))}
          />
        </span>
      </div>
      <FieldErrors errors={errors.filter(({ path }) => path.startsWith('/events'))} />
      <div class="events">
        {group(ofCall)}
        <div>
          {group(ofDials)}
          {group(ofStates)}
        </div>
      </div>
    </div>
  )
}

type OptionsProps = {
  readonly options: OptionsForm
  readonly errors: readonly FieldError[]
  readonly onChange: (options: OptionsForm) => void
}

function FilterFold({ options, errors, onChange }: OptionsProps) {
  const filter = Object.entries(filterOf(options) ?? {})
  const wrong = errors.some(({ path }) => path.startsWith('/filter'))
  const value = filter.map(([key, values]) => `${key === 'direction' ? '' : `${key} `}${(values ?? []).join(' or ')}`)
  return (
    <Fold title="Only some calls" value={value.join(', ') || 'all'} isOpen={wrong}>
      <p class="hint">
        An event is sent if it matches every field that is filled in, by one of its values, which commas separate.{' '}
        <code>*</code> at the end of a value stands for any text. An event that has no such value at all, such as a
        phone that has no direction, is never sent.
      </p>
      <div class="fields">
        {FILTER_NAMES.map((key) => (
          <FormField
            key={key}
            label={key}
            name={`filter/${key}`}
            value={options.filter[key] ?? ''}
            onInput={(text) => onChange({ ...options, filter: { ...options.filter, [key]: text } })}
            errors={below(errors, `/filter/${key}`)}
            hint={<InlineText text={FILTER_KEYS[key]} />}
          />
        ))}
      </div>
    </Fold>
  )
}

/** The errors of a field and of everything in it, as errors of the field. */
const below = (errors: readonly FieldError[], path: string): FieldError[] =>
  errors
    .filter((error) => error.path === path || error.path.startsWith(`${path}/`))
    .map((error) => ({ ...error, path }))

function OrderFold({ options, errors, isMqtt, onChange }: OptionsProps & { isMqtt: boolean }) {
  const { strict, maxPerSecond, retain, discovery } = options
  const pace = maxPerSecond.trim() === '' ? 'no limit' : `at most ${maxPerSecond} a second`
  const value = [
    strict ? 'strict' : 'as they come',
    pace,
    ...(isMqtt && retain ? ['retained'] : []),
    ...(discovery ? ['Home Assistant'] : []),
  ]
  return (
    <Fold
      title="Order and pace"
      value={value.join(', ')}
      isOpen={errors.some(({ path }) => path === '/max_per_second' || path === '/discovery')}
    >
      <CheckField checked={strict} onChange={(checked) => onChange({ ...options, strict: checked })}>
        <span>
          Strict order
          <small>An event waits until the one before it in its call is delivered or has failed.</small>
        </span>
      </CheckField>
      {isMqtt ? (
        <CheckField checked={retain} onChange={(checked) => onChange({ ...options, retain: checked })}>
          <span>
            Retain
            <small>The broker keeps the newest message of each topic, for everyone who subscribes later.</small>
          </span>
        </CheckField>
      ) : null}
      {isMqtt || discovery ? (
        <CheckField checked={discovery} onChange={(checked) => onChange({ ...options, discovery: checked })}>
          <span>
            Home Assistant
            <small>It finds each phone, trunk and queue by itself. Switched off, they go again.</small>
          </span>
        </CheckField>
      ) : null}
      <FieldErrors errors={errors.filter(({ path }) => path === '/discovery')} />
      <FormField
        label="Attempts per second, at most"
        name="max_per_second"
        value={maxPerSecond}
        onInput={(text) => onChange({ ...options, maxPerSecond: text })}
        errors={errors}
        hint="From 0.1 to 1,000. Empty: as fast as the receiver answers."
      />
    </Fold>
  )
}
