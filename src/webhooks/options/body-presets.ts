import type { SentBody } from '../../events/bodies.ts'
import { nameOf, phraseOf } from '../../events/phrase.ts'
import { flatOf, formBody } from './flat-body.ts'

/** Ready-made bodies for common receivers. */
type Preset = {
  /** Its purpose, for the page and the API document. */
  readonly summary: string
  /** Where the receiver, or the format, documents such bodies. */
  readonly documentation?: string
  readonly contentType: string
  /** The required parameters, each with its description. */
  readonly parameters: Readonly<Record<string, string>>
  render(body: SentBody, parameters: Readonly<Record<string, string>>): string
}

const JSON_TYPE = 'application/json'
const json = (value: unknown): string => JSON.stringify(value)

export const PRESETS = {
  flat: {
    summary: 'One level of fields, for no-code tools and spreadsheets',
    contentType: JSON_TYPE,
    parameters: {},
    render: (body) => json(flatOf(body)),
  },
  form: {
    summary: 'The same as a form, for receivers that read $_POST',
    contentType: 'application/x-www-form-urlencoded',
    parameters: {},
    render: formBody,
  },
  cloudevents: {
    summary: 'A CloudEvents 1.0 event in structured mode',
    documentation: 'https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md',
    contentType: 'application/cloudevents+json',
    parameters: {},
    render: cloudEvent,
  },
  slack: {
    summary: 'A message for an incoming webhook of Slack',
    documentation: 'https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks',
    contentType: JSON_TYPE,
    parameters: {},
    render: slack,
  },
  teams: {
    summary: 'An Adaptive Card for a Workflow of Microsoft Teams',
    documentation:
      'https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using',
    contentType: JSON_TYPE,
    parameters: {},
    render: teams,
  },
  mattermost: {
    summary: 'A message for an incoming webhook of Mattermost',
    documentation: 'https://developers.mattermost.com/integrate/webhooks/incoming/',
    contentType: JSON_TYPE,
    parameters: {},
    render: mattermost,
  },
  discord: {
    summary: 'A message for a webhook of Discord',
    documentation: 'https://discord.com/developers/docs/resources/webhook#execute-webhook',
    contentType: JSON_TYPE,
    parameters: {},
    render: discord,
  },
  telegram: {
    summary: 'sendMessage of a Telegram bot: the URL is https://api.telegram.org/bot<token>/sendMessage',
    documentation: 'https://core.telegram.org/bots/api#sendmessage',
    contentType: JSON_TYPE,
    parameters: { chat_id: 'The chat to write to: a number, or @ and the name of a channel' },
    render: (body, { chat_id = '' }) =>
      json({ chat_id, text: textOf(body, same, 4_000), link_preview_options: { is_disabled: true } }),
  },
} as const satisfies Readonly<Record<string, Preset>>

export type PresetName = keyof typeof PRESETS
// Object.keys loses the type of the keys.
export const PRESET_NAMES = Object.keys(PRESETS) as unknown as readonly [PresetName, ...PresetName[]]
/** Returns a preset by its name. */
export const bodyPresetOf = (name: PresetName): Preset => PRESETS[name]

/** https://github.com/cloudevents/spec: structured mode; `source` is a path. */
function cloudEvent(body: SentBody): string {
  const { time, data } = body
  const source = `/${[data.account ?? '', 'pbx' in data ? data.pbx : ''].map(encodeURIComponent).join('/')}`
  const about = subjectOf(body)
  const subject = about === undefined ? {} : { subject: about }
  const head = { specversion: '1.0', id: data.id, source, type: `hookswitch.${data.name}`, ...subject, time }
  return json({ ...head, datacontenttype: JSON_TYPE, data })
}

/** Returns the id of the call, or the name of the phone, trunk, agent or queue; a test has none. */
function subjectOf({ data }: SentBody): string | undefined {
  if ('call' in data) return data.call?.id
  if ('phone' in data) return data.phone.extension
  if ('trunk' in data) return data.trunk.trunk
  if ('agent' in data) return data.agent.extension
  return 'queue' in data ? data.queue.queue : undefined
}

/** A message of a chat: a title, and named facts. Not escaped. */
type Message = { readonly title: string; readonly facts: readonly (readonly [name: string, value: string])[] }

function messageOf(body: SentBody): Message {
  const { data } = body
  const title = phraseOf(body)
  if (!('call' in data) || data.call === null)
    return { title, facts: 'pbx' in data ? [['PBX', data.pbx]] : [['Account', data.account ?? '']] }
  const { from, to, direction, queue, result, duration } = data.call
  const facts: [string, string][] = [
    ['From', nameOf(from)],
    ['To', nameOf(to)],
    ['Direction', direction],
  ]
  if (queue !== null) facts.push(['Queue', queue.name])
  if (result !== null) facts.push(['Result', result.replaceAll('_', ' ')])
  if (duration !== null) facts.push(['Duration', `${duration} s`])
  facts.push(['PBX', data.pbx])
  return { title, facts }
}

type Escape = (text: string) => string
const same: Escape = (text) => text
/** The three characters that Slack decodes in any text, so that no caller's name is a mention. */
const forSlack: Escape = (text) => text.replace(/[&<>]/g, (found) => `&${{ '&': 'amp', '<': 'lt', '>': 'gt' }[found]};`)
/** Escapes Markdown in text of callers; a zero-width space keeps @all from being a mention. */
const forMarkdown: Escape = (text) => text.replace(/[\\`*_[\]<>~|]/g, '\\$&').replaceAll('@', '@\u200b')

/** Cuts text off, never within an emoji: receivers refuse a body with half of one. */
const cut = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '')}…`

/** A title and a line for each fact. */
function textOf(body: SentBody, escaped: Escape, max: number, bold = ''): string {
  const { title, facts } = messageOf(body)
  const lines = facts.map(([name, value]) => `${name}: ${escaped(cut(value, 200))}`)
  return cut([`${bold}${escaped(cut(title, 300))}${bold}`, ...lines].join('\n'), max)
}

function slack(body: SentBody): string {
  const { title, facts } = messageOf(body)
  const heading = forSlack(cut(title, 500))
  const details = facts.map(([name, value]) => `${name}: ${forSlack(cut(value, 200))}`).join(' · ')
  // Plain text, since `mrkdwn` has no escape: a caller's name could be bold, a link or an emoji.
  const plain = (text: string) => ({ type: 'plain_text', text, emoji: false })
  return json({
    // The text of notifications; `mrkdwn: false` turns formats off, and `parse: "none"` links.
    text: heading,
    mrkdwn: false,
    parse: 'none',
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      { type: 'section', text: plain(heading) },
      { type: 'context', elements: [plain(details)] },
    ],
  })
}

function teams(body: SentBody): string {
  const { title, facts } = messageOf(body)
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [
      { type: 'TextBlock', text: forMarkdown(cut(title, 500)), weight: 'Bolder', wrap: true },
      {
        type: 'FactSet',
        facts: facts.map(([name, value]) => ({ title: name, value: forMarkdown(cut(value, 200)) })),
      },
    ],
  }
  const contentType = 'application/vnd.microsoft.card.adaptive'
  return json({ type: 'message', attachments: [{ contentType, contentUrl: null, content }] })
}

function mattermost(body: SentBody): string {
  return json({ text: textOf(body, forMarkdown, 4_000, '**') })
}

function discord(body: SentBody): string {
  const { title, facts } = messageOf(body)
  const fields = facts.map(([name, value]) => ({ name, value: forMarkdown(cut(value, 200)), inline: true }))
  const embed = { title: forMarkdown(cut(title, 100)), timestamp: body.time, fields }
  return json({ embeds: [embed], allowed_mentions: { parse: [] } })
}
