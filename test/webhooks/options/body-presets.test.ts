import { describe, expect, test } from 'bun:test'
import { KindGuard, type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { BODIES, type EventBody } from '../../../src/events/bodies.ts'
import { EXAMPLES } from '../../../src/events/samples.ts'
import { PRESETS } from '../../../src/webhooks/options/body-presets.ts'
import { flatOf } from '../../../src/webhooks/options/flat-body.ts'

const closed = { additionalProperties: false }
const text = (maxLength: number) => Type.String({ minLength: 1, maxLength })

/**
 * The parts of the receivers' documentation that presets use.
 * Slack: docs.slack.dev/messaging/sending-messages-using-incoming-webhooks, …/reference/block-kit/blocks/section-block
 * (text of 3,000 characters), …/context-block (10 elements), 50 blocks a message.
 */
const plain = Type.Object({ type: Type.Literal('plain_text'), text: text(3_000), emoji: Type.Literal(false) }, closed)
const slack = Type.Object(
  {
    text: text(40_000),
    mrkdwn: Type.Literal(false),
    parse: Type.Literal('none'),
    unfurl_links: Type.Literal(false),
    unfurl_media: Type.Literal(false),
    blocks: Type.Array(
      Type.Union([
        Type.Object({ type: Type.Literal('section'), text: plain }, closed),
        Type.Object(
          { type: Type.Literal('context'), elements: Type.Array(plain, { minItems: 1, maxItems: 10 }) },
          closed,
        ),
      ]),
      { maxItems: 50 },
    ),
  },
  closed,
)

/** Teams: learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using; adaptivecards.io/schemas (1.4). */
const teams = Type.Object(
  {
    type: Type.Literal('message'),
    attachments: Type.Array(
      Type.Object(
        {
          contentType: Type.Literal('application/vnd.microsoft.card.adaptive'),
          contentUrl: Type.Null(),
          content: Type.Object(
            {
              $schema: Type.Literal('http://adaptivecards.io/schemas/adaptive-card.json'),
              type: Type.Literal('AdaptiveCard'),
              version: Type.Literal('1.4'),
              body: Type.Array(
                Type.Union([
                  Type.Object(
                    {
                      type: Type.Literal('TextBlock'),
                      text: Type.String(),
                      weight: Type.Literal('Bolder'),
                      wrap: Type.Boolean(),
                    },
                    closed,
                  ),
                  Type.Object(
                    {
                      type: Type.Literal('FactSet'),
                      facts: Type.Array(Type.Object({ title: Type.String(), value: Type.String() }, closed)),
                    },
                    closed,
                  ),
                ]),
              ),
            },
            closed,
          ),
        },
        closed,
      ),
      { minItems: 1, maxItems: 1 },
    ),
  },
  closed,
)

/** Mattermost: developers.mattermost.com/integrate/webhooks/incoming; a post has 16,383 characters at most. */
const mattermost = Type.Object({ text: text(16_383) }, closed)

/** Discord: discord.com/developers/docs/resources/webhook (execute webhook) and …/message (embed limits). */
const discord = Type.Object(
  {
    embeds: Type.Array(
      Type.Object(
        {
          title: text(256),
          timestamp: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT[0-9:.]+Z$' }),
          fields: Type.Array(Type.Object({ name: text(256), value: text(1_024), inline: Type.Boolean() }, closed), {
            maxItems: 25,
          }),
        },
        closed,
      ),
      { minItems: 1, maxItems: 10 },
    ),
    allowed_mentions: Type.Object({ parse: Type.Array(Type.String(), { maxItems: 0 }) }, closed),
  },
  closed,
)

/** Telegram: core.telegram.org/bots/api#sendmessage. */
const telegram = Type.Object(
  {
    chat_id: Type.Union([Type.String(), Type.Integer()]),
    text: text(4_096),
    link_preview_options: Type.Object({ is_disabled: Type.Boolean() }, closed),
  },
  closed,
)

/** CloudEvents: github.com/cloudevents/spec, cloudevents/formats/cloudevents.json of version 1.0. */
const cloudevents = Type.Object(
  {
    specversion: Type.Literal('1.0'),
    id: Type.String({ minLength: 1 }),
    source: Type.String({ minLength: 1, pattern: '^[!-~]+$' }),
    type: Type.String({ pattern: '^hookswitch\\.[a-z_]+$' }),
    subject: Type.String({ minLength: 1 }),
    time: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT[0-9:.]+Z$' }),
    datacontenttype: Type.Literal('application/json'),
    data: Type.Object({}),
  },
  closed,
)

const SCHEMAS = { slack, teams, mattermost, discord, telegram, cloudevents }

const parameters = { chat_id: '-100123' }
/** All that a caller may choose is as long and as hostile as it can be. */
const HOSTILE =
  '<!channel> @channel @everyone [x](https://evil.example) **b** <script> `a` _i_ | " \\ \n \u202e'.repeat(30)
const hostile = (body: EventBody): EventBody =>
  JSON.parse(JSON.stringify(body, (key, value) => (key === 'name' && value !== body.data.name ? HOSTILE : value)))
const VIEWS: readonly [string, EventBody][] = EXAMPLES.flatMap((body): [string, EventBody][] => [
  [body.data.name, body],
  [`${body.data.name} of a hostile caller`, hostile(body)],
])

describe.each(Object.entries(SCHEMAS))('the preset %s', (name, schema: TSchema) => {
  const { render } = PRESETS[name as keyof typeof SCHEMAS]
  test.each(VIEWS)('makes the body for %s as its receiver documents it', (_, view) => {
    const body: unknown = JSON.parse(render(view, parameters))
    expect([...Value.Errors(schema, body)].map(({ path, message }) => `${path}: ${message}`)).toEqual([])
  })
})

describe('what others wrote', () => {
  test.each(Object.keys(SCHEMAS) as (keyof typeof SCHEMAS)[])(
    'is cut off in %s between two emoji, not within one',
    (name) => {
      const [example] = EXAMPLES
      for (const shift of ['', 'a']) {
        const phones = shift + '\u{1F4DE}'.repeat(3_000)
        const replaced = JSON.stringify(example, (key, value) =>
          key === 'name' && value !== example?.data.name ? phones : value,
        )
        const body = PRESETS[name].render(JSON.parse(replaced), parameters)
        // JSON has a half as an escape.
        expect(body).not.toMatch(/\\ud[89a-f]/i)
        expect(body.isWellFormed()).toBe(true)
      }
    },
  )
  const rendered = (name: keyof typeof PRESETS) => PRESETS[name].render(hostile(EXAMPLES[0] as EventBody), parameters)
  test('is no mention in Slack', () => expect(rendered('slack')).not.toMatch(/<[!@h]/))
  // Slack cannot escape *bold* and web addresses in mrkdwn: only plain text shows them unchanged.
  test('is no format and no link in Slack', () => expect(rendered('slack')).not.toContain('"type":"mrkdwn"'))
  test('mentions nobody in Mattermost', () => expect(rendered('mattermost')).not.toMatch(/@(channel|everyone)/))
  test.each(['mattermost', 'teams', 'discord'] as const)('is no link in %s', (name) =>
    expect(JSON.stringify(JSON.parse(rendered(name)))).not.toMatch(/(?<!\\)\]\(/),
  )
})

describe('the preset flat', () => {
  test.each(EXAMPLES.map((body) => [body.data.name, body] as const))('has one level of %s', (name, body) => {
    const flat = flatOf(body)
    expect(flat).toMatchObject({
      time: body.time,
      event: name,
      call_from_number: '+4930123456',
      call_direction: 'inbound',
    })
    for (const value of Object.values(flat)) expect(typeof value === 'object' ? value : null).toBeNull()
    expect(flat.call_merged_from).toBeString()
  })

  test('has the same columns, also for null values', () => {
    for (const [name, schema] of Object.entries(BODIES)) {
      const nullable = nullableOf(schema.properties.data, '')
      for (const [path, fields] of nullable) {
        const flat = flatOf(JSON.parse(JSON.stringify({ time: '', data: { name, [path]: null } })))
        const columns = Object.keys(flat).filter((column) => column.startsWith(`${path}_`))
        expect([name, columns]).toEqual([name, fields.map((field) => `${path}_${field}`)])
      }
    }
  })

  test('is the same as a form', () => {
    for (const body of EXAMPLES) {
      const form = new URLSearchParams(PRESETS.form.render(body))
      expect(Object.fromEntries(form)).toEqual(
        Object.fromEntries(Object.entries(flatOf(body)).map(([key, value]) => [key, String(value ?? '')])),
      )
    }
  })
})

/** The object of a schema that is an object or null, `undefined` of another. */
const objectOrNull = (field: TSchema) =>
  KindGuard.IsUnion(field) ? field.anyOf.find((one) => KindGuard.IsObject(one)) : undefined

/** The paths of a schema that are an object or null, each with the columns of the object. */
function nullableOf(schema: TSchema, prefix: string): [string, string[]][] {
  if (!KindGuard.IsObject(schema)) return []
  return Object.entries(schema.properties).flatMap(([key, field]): [string, string[]][] => {
    const path = prefix === '' ? key : `${prefix}_${key}`
    const object = objectOrNull(field)
    return object === undefined ? nullableOf(field, path) : [[path, columnsOf(object)], ...nullableOf(object, path)]
  })
}

const columnsOf = (schema: TSchema): string[] =>
  Object.entries<TSchema>(schema.properties).flatMap(([key, field]) => {
    const object = KindGuard.IsObject(field) ? field : objectOrNull(field)
    return object === undefined ? [key] : columnsOf(object).map((column) => `${key}_${column}`)
  })
