import { useRef, useState } from 'preact/hooks'
import { isMqttUrl } from '../../../../outbound/mqtt-url.ts'
import { ConfirmDialog, Drawer } from '../../components/dialog.tsx'
import { Loading } from '../../components/empty-state.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { useFirstError } from '../../components/first-error.ts'
import { Icon } from '../../components/icon.tsx'
import { Menu } from '../../components/menu.tsx'
import { SetUpPart } from '../../components/set-up-part.tsx'
import { State } from '../../components/state.tsx'
import { showToast } from '../../components/toast.tsx'
import { formatPendingCount, formatSince } from '../../lib/format.ts'
import type { WebhookHealth } from '../../lib/resources.ts'
import { navigate, routeHref } from '../../lib/router.ts'
import { serverNowMs } from '../../lib/server-clock.ts'
import { type Form, useForm } from '../../lib/use-form.ts'
import { findWebhookErrors, type WebhookForm } from '../../lib/webhook-form.ts'
import { loadWebhook, saveWebhook, setPaused } from '../../lib/webhook-requests.ts'
import { troubleSince, webhookKey, webhookName, webhookState } from '../../lib/webhook-state.ts'
import { PastCallsFold } from './past-calls-fold.tsx'
import { SecretFold } from './secret-fold.tsx'
import { TestPart } from './test-part.tsx'
import { WebhookFields } from './webhook-fields.tsx'
import { WebhookHealthPart } from './webhook-health.tsx'

type WebhookDrawerProps = { webhook: WebhookHealth; onRemove: () => void; onClose: () => void }

/** Shows one webhook: how it does, and everything that can be set. */
export function WebhookDrawer({ webhook, onRemove, onClose }: WebhookDrawerProps) {
  const [asked, setAsked] = useState<{ conflicts: readonly string[]; answer: (save: boolean) => void } | null>(null)
  const [isLeaving, setLeaving] = useState(false)
  const ask = (conflicts: readonly string[]) =>
    new Promise<boolean>((resolve) =>
      setAsked({
        conflicts,
        answer: (save) => {
          setAsked(null)
          resolve(save)
        },
      }),
    )
  const form = useForm<WebhookForm>({
    load: () => loadWebhook(webhook),
    check: (value) => findWebhookErrors(value, webhook.url),
    save: async (value, stored) => (await saveWebhook(webhook, value, stored, ask)) ?? { saved: value },
    onSaved: () => {
      showToast('good', 'Saved.')
      onClose()
    },
  })
  const { tone, text } = webhookState(webhook, serverNowMs())
  const since = troubleSince(webhook)
  const close = () => (form.isChanged ? setLeaving(true) : onClose())
  return (
    <Drawer
      title={webhookName(webhook)}
      docks
      onClose={close}
      beside={
        <>
          <State tone={tone}>
            {/* How long it has been down stands behind the time. */}
            {since === null ? text : `${text.replace(/^down .*/, 'down')} ${formatSince(since, serverNowMs())}`}
          </State>
          {webhook.pending > 0 ? <span class="dim">{formatPendingCount(webhook.pending)} pending</span> : null}
        </>
      }
    >
      <DrawerForm form={form} webhook={webhook} onRemove={onRemove} onClose={close} />
      {asked === null ? null : (
        <ConfirmDialog
          title="Somebody else has changed it, too"
          text={`While this was open, somebody else has changed ${asked.conflicts.join(', ')}. Save what you have entered in its place?`}
          action="Save mine"
          onConfirm={() => asked.answer(true)}
          onClose={() => asked.answer(false)}
        />
      )}
      {isLeaving ? (
        <ConfirmDialog
          title="Discard the changes?"
          text="What you have changed here is not saved."
          action="Discard"
          danger
          onConfirm={onClose}
          onClose={() => setLeaving(false)}
        />
      ) : null}
    </Drawer>
  )
}

type DrawerFormProps = WebhookDrawerProps & { form: Form<WebhookForm> }

function DrawerForm({ form, webhook, onRemove, onClose }: DrawerFormProps) {
  const { value, error, errors, isBusy } = form
  const element = useRef<HTMLFormElement>(null)
  const [tests, setTests] = useState(0)
  useFirstError(element, errors)
  return (
    <form
      ref={element}
      class="drawer-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void form.submit()
      }}
    >
      <div class="drawer-body">
        {tests === 0 ? null : <TestPart key={tests} url={webhook.url} />}
        <WebhookHealthPart webhook={webhook} />
        {error === null ? null : <ErrorMessage text={error} onRetry={() => void form.reload()} />}
        {value === null ? (
          error === null ? (
            <Loading what="the webhook" />
          ) : null
        ) : (
          <fieldset disabled={isBusy}>
            <WebhookFields
              form={value}
              errors={errors}
              isMqtt={isMqttUrl(value.url)}
              requests={
                <Requests
                  form={value}
                  url={webhook.url}
                  // A changed form is not read again; saving keeps the stored options of the other form.
                  onSaved={() => (form.isChanged ? undefined : void form.reload())}
                />
              }
              onChange={form.set}
            />
            <SecretFold url={webhook.url} />
            <PastCallsFold url={webhook.url} />
          </fieldset>
        )}
      </div>
      <div class="drawer-foot">
        <button type="button" class="button" onClick={() => setTests(tests + 1)}>
          <Icon name="send" />
          Send a test
        </button>
        <DrawerMenu webhook={webhook} onRemove={onRemove} />
        <span class="push" />
        <button type="button" class="button quiet" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" class="button primary" disabled={value === null || isBusy}>
          {isBusy ? 'Saving…' : 'Save'}
        </button>
      </div>
    </form>
  )
}

function DrawerMenu({ webhook, onRemove }: Omit<WebhookDrawerProps, 'onClose'>) {
  const { url, paused } = webhook
  const pause = async () => {
    const error = await setPaused(url, !paused)
    if (error !== null) showToast('bad', error)
  }
  return (
    <Menu
      label="More: pause, copy as a new one, remove"
      styles="button quiet only"
      items={[
        { text: paused ? 'Resume' : 'Pause', icon: paused ? 'play' : 'pause', onChoose: () => void pause() },
        {
          text: 'Copy as a new one',
          icon: 'copy',
          onChoose: () => navigate(routeHref('webhooks', 'new', { copy: webhookKey(webhook) })),
        },
        { text: 'Remove…', icon: 'trash', isDanger: true, isApart: true, onChoose: onRemove },
      ]}
    >
      <Icon name="more" />
      <span class="hidden">More: pause, copy as a new one, remove</span>
    </Menu>
  )
}

/** Shows that a webhook sends the requests of a flow, and leads to its settings. */
function Requests({ form, url, onSaved }: { form: WebhookForm; url: string; onSaved: () => void }) {
  const [isOpen, setOpen] = useState(false)
  const { flow } = form.options.others
  if (flow == null) return null
  return (
    <div class="part">
      <div class="section-head">
        <h3>Requests</h3>
        <button type="button" class="button small push" onClick={() => setOpen(true)}>
          {flow.preset === undefined ? 'Show the steps' : 'Change'}
        </button>
      </div>
      <p class="hint">
        {flow.preset === undefined
          ? 'It sends several requests of its own for an event, in steps.'
          : `It sends what ${flow.preset} needs: several requests for an event, in steps.`}
      </p>
      {form.problem === undefined ? null : (
        <ErrorMessage
          text={`The CRM refuses its authorization: ${form.problem}. Deliveries wait. Enter the secrets anew under Change.`}
        />
      )}
      {isOpen ? (
        <SetUpPart>
          {({ CrmDialog }) => <CrmDialog url={url} onSaved={onSaved} onClose={() => setOpen(false)} />}
        </SetUpPart>
      ) : null}
    </div>
  )
}
