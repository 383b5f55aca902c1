import { useState } from 'preact/hooks'
import { Drawer } from '../../components/dialog.tsx'
import { DialogForm } from '../../components/dialog-form.tsx'
import { SelectField } from '../../components/form-field.tsx'
import { SetUpPart } from '../../components/set-up-part.tsx'
import { showToast } from '../../components/toast.tsx'
import { overview, refreshOverview } from '../../lib/connection.ts'
import { useObservable } from '../../lib/observable.ts'
import type { WebhookHealth } from '../../lib/resources.ts'
import { currentRoute } from '../../lib/router.ts'
import { type Failure, useForm } from '../../lib/use-form.ts'
import { CHATS, findWebhookErrors, newWebhookForm, type WebhookForm, type WebhookKind } from '../../lib/webhook-form.ts'
import { addWebhook, loadWebhook } from '../../lib/webhook-requests.ts'
import { webhookKey, webhookName } from '../../lib/webhook-state.ts'
import { WebhookFields } from './webhook-fields.tsx'

const TILES: readonly (readonly [WebhookKind, string, string])[] = [
  ['address', 'Your own address', 'a signed POST for each event'],
  ['crm', 'A CRM', 'Bitrix24, HubSpot, Odoo and others: only a key is needed'],
  ['chat', 'A chat', 'Slack, Teams, Mattermost, Discord, Telegram'],
  ['mqtt', 'An MQTT broker', 'home automation, dashboards'],
]

/** Shows the drawer that adds a webhook: to an address, a CRM, a chat or a broker. */
export function AddWebhook({ onClose }: { onClose: () => void }) {
  const { copy } = useObservable(currentRoute).query
  const copied = overview.get()?.webhooks.find((one) => webhookKey(one) === copy)
  const [kind, setKind] = useState<WebhookKind>('address')
  const form = useForm<WebhookForm>({
    load: copied === undefined ? newWebhookForm('address') : () => copyOf(copied),
    check: (value) => findWebhookErrors(value, null),
    save: async (value) => (await addWebhook(value)) ?? { saved: value },
    onSaved: () => {
      showToast('good', 'Added. It gets new events from now on.')
      onClose()
    },
  })
  const choose = (next: WebhookKind) => {
    setKind(next)
    form.set(newWebhookForm(next, form.value?.url))
  }
  const tiles = (
    <div class="part">
      <fieldset>
        <legend class="hidden">Where to</legend>
        <div class="tiles pairs">
          {TILES.map(([name, title, text]) => (
            <label key={name} class="tile">
              <b>{title}</b>
              <input type="radio" name="where" checked={kind === name} onChange={() => choose(name)} />
              <small>{text}</small>
            </label>
          ))}
        </div>
      </fieldset>
    </div>
  )
  return (
    <Drawer title="Add a webhook" docks onClose={onClose}>
      {kind === 'crm' ? (
        <SetUpPart>
          {({ NewCrm }) => <NewCrm before={tiles} onSaved={() => void refreshOverview()} onClose={onClose} />}
        </SetUpPart>
      ) : (
        <DialogForm
          errors={form.errors}
          error={form.error}
          action={form.isBusy ? 'Adding…' : 'Add webhook'}
          disabled={form.isBusy || form.value === null}
          onSubmit={() => void form.submit()}
          onClose={onClose}
        >
          {tiles}
          {form.value === null ? null : (
            <fieldset disabled={form.isBusy}>
              {kind === 'chat' ? <ChatChoice form={form.value} onChange={form.set} /> : null}
              <WebhookFields
                form={form.value}
                errors={form.errors}
                isMqtt={kind === 'mqtt'}
                {...(kind === 'chat' ? { examples: chatExamples(form.value) } : {})}
                onChange={form.set}
              />
            </fieldset>
          )}
        </DialogForm>
      )}
    </Drawer>
  )
}

type ChatProps = { form: WebhookForm; onChange: (form: WebhookForm) => void }

/** Shows the choice of a chat, since each chat has a body of its own. */
function ChatChoice({ form, onChange }: ChatProps) {
  const { options } = form
  return (
    <div class="part">
      <SelectField
        label="Chat"
        value={options.body}
        options={CHATS.map(([preset, name]) => [preset, name] as const)}
        onChange={(body) => onChange({ ...form, options: { ...options, body } })}
        hint="Add an incoming webhook there (for Telegram a bot), and paste its address here."
      />
    </div>
  )
}

const chatExamples = ({ options }: WebhookForm) => ({
  name: 'Sales channel',
  url: CHATS.find(([preset]) => preset === options.body)?.[2] ?? '',
})

/** Returns the form of a webhook that is copied, without its address and its headers, whose values are secret. */
async function copyOf(webhook: WebhookHealth): Promise<WebhookForm | Failure> {
  const found = await loadWebhook(webhook)
  if (!('options' in found)) return found
  const { options } = found
  return { ...found, url: '', options: { ...options, name: `${webhookName(webhook)}, copy`, headers: [] } }
}
