import { type Command, Option } from 'commander'
import { EVENT_NAMES, SWITCH_NAMES } from '../../events/kinds.ts'
import { Fault } from '../../lib/fault.ts'
import { shownUrl } from '../../lib/shown-url.ts'
import { wrongUsage } from '../../lib/usage.ts'
import { retainWarning } from '../../outbound/mqtt-url.ts'
import type { WebhookHealth } from '../../web/web.ts'
import { PRESET_NAMES, type Webhook, type WebhookOptions, type WebhookSecret } from '../../webhooks/webhooks.ts'
import { controlOption, databaseOption, dataOption, jsonOption, list } from '../options.ts'
import { print, printError, printJson } from '../print.ts'
import { inLine } from '../service.ts'
import { printTable } from '../table.ts'
import { type AccountFlags, type AskAccount, notInList, onAccount, optionsIn } from '../webhook-account.ts'
import { changesOf, eventsOf, type OptionFlags } from '../webhook-flags.ts'
import { describeDown, lastErrorOf } from '../webhook-state.ts'
import { replayEvents } from './webhook-replay.ts'
import { checkPreset, listPresetUsers, sendTest, showPresets, showPreview } from './webhook-trials.ts'

/** Adds `hookswitch webhook`. */
export function webhookCommand(program: Command): void {
  const webhook = program.command('webhook').description('manage the URLs that receive events, and their options')
  const command = (name: string, description: string) =>
    webhook
      .command(name)
      .description(description)
      .option('--account <account>', 'the account of the list', 'default')
      .addOption(dataOption())
      .addOption(databaseOption())
      .addOption(controlOption())
      .addOption(jsonOption())
  const ofUrl = (name: string, description: string) =>
    command(name, description).argument('<url>', "a URL of the account's list")

  command('list', 'list the webhooks of an account with their options').action(showWebhooks)
  command('add', 'add a URL to the list')
    .argument('<url>', 'an absolute http: or https: URL, or mqtt://host/topic (mqtts: over TLS)')
    .addOption(
      new Option('--events <events>', 'which events it gets: all, or names separated by commas (repeatable)')
        .argParser(list)
        .default([], 'all'),
    )
    .addOption(allowNetOption())
    .action(addWebhook)
  ofUrl('remove', 'remove a URL from the list; its pending deliveries are cancelled').action(removeWebhook)
  addOptionFlags(ofUrl('set', 'change the events and options of a URL; the others stay'))
    .addOption(allowNetOption())
    .action(setWebhook)
  ofUrl('secret', 'print the secret that signs the requests to a URL')
    .option('--rotate', 'make a new secret; the previous one also signs for 24 hours')
    .option('--force', 'with --rotate: end the previous secret at once, if it still signs')
    .action(showSecret)
  ofUrl(
    'preview',
    'print the request that the receiver would get for an event, or the requests that a call would have caused',
  )
    .addOption(new Option('--event <kind>', 'the kind of the event').choices(EVENT_NAMES))
    .option('--call <id>', 'for a flow: a call whose events are in the store')
    .option('--recording <file>', 'for a flow: the calls of a recording (.ami or .esl, see pbx record)')
    .action(showPreview)
  command('check', 'for a CRM preset: send a request that changes nothing, and print the answer')
    .argument('<url>', "a URL of the account's list; with --flow also one that is not in it yet")
    .option('--flow <file>', 'check this preset, before it is saved: a file of JSON (-: standard input)')
    .addOption(allowNetOption())
    .addOption(proxyOption())
    .action(checkPreset)
  command('users', 'for a CRM preset: list the CRM users, for the map of extensions')
    .argument('<url>', "a URL of the account's list; with --flow also one that is not in it yet")
    .option('--flow <file>', 'with this preset, before it is saved: a file of JSON (-: standard input)')
    .addOption(allowNetOption())
    .addOption(proxyOption())
    .action(listPresetUsers)
  webhook
    .command('preset')
    .argument('[name]', 'the preset whose parameters are listed')
    .description('list the CRM presets, or the parameters of one')
    .addOption(jsonOption())
    .action(showPresets)
  ofUrl('replay', 'send the past events of a time to a URL, as if they had just occurred')
    .requiredOption('--since <time>', 'from this time on: RFC 3339, or how long ago it was, as 7d')
    .option('--until <time>', 'before this time (default: now)')
    .option('--events <events>', 'kinds of call events, separated by commas (default: as the URL asks for)', list, [])
    .option('--again', 'also events that were delivered to this URL before')
    .action(replayEvents)
  ofUrl('test', 'send one signed test request, which is not stored, and print the response')
    .addOption(allowNetOption())
    .addOption(proxyOption())
    .option('--send', 'for a flow: send its steps, instead of only printing them')
    .action(sendTest)
}

const AS_SERVE = 'as for serve; default: the setting of the running service'
const allowNetOption = () => new Option('--allow-net <net>', `${AS_SERVE} (repeatable)`).argParser(list).default([])
const proxyOption = () => new Option('--proxy <url>', AS_SERVE)

const addOptionFlags = (command: Command): Command =>
  command
    .option('--events <events>', 'which events it gets: all, or names separated by commas (repeatable)', list, [])
    .option('--name <text>', 'a name for people, shown beside the URL')
    .option('--paused', 'send nothing; deliveries stay pending')
    .option('--no-paused', 'end the pause')
    .option('--filter <json>', 'which events it gets: \'{"direction":["inbound"],"queue":["sales*"]}\'')
    .option('--headers <file>', 'more request headers: a file of lines name: value (-: standard input)')
    .addOption(
      new Option('--order <order>', 'whether a retry delays later events of its call').choices([
        'first_attempt',
        'strict',
      ]),
    )
    .option('--max-per-second <number>', 'the most attempts per second, 0.1 to 1000')
    .addOption(new Option('--preset <preset>', 'a built-in body').choices(PRESET_NAMES))
    .option('--parameter <name=value>', 'a parameter of the preset, like chat_id=-100123 (repeatable)', list, [])
    .option('--template <file>', 'a body in Liquid (-: standard input)')
    .option('--content-type <type>', 'the content type of the template')
    .option('--default-body', 'the default body again')
    .option('--retain', 'for an MQTT URL: the broker keeps the newest message of each topic')
    .option('--no-retain', 'the broker keeps no messages')
    .addOption(
      new Option(
        '--discovery <system>',
        'for an MQTT URL: this home automation shows each phone, trunk and queue by itself',
      ).choices(['homeassistant']),
    )
    .option('--no-discovery', 'take that back')
    .option(
      '--flow <file>',
      'several requests for one event: a file of JSON with steps or a preset (-: standard input)',
    )
    .option('--no-flow', 'one request for one event again')
    .option('--certificate <file>', 'show this client certificate (PEM), with --key; the three replace what was there')
    .option('--key <file>', 'the private key of the certificate (PEM, without a passphrase)')
    .option('--ca <file>', 'trust these authorities (PEM) in place of the usual ones')
    .option('--no-tls', 'no certificate, and the usual authorities again')
    .option('--authorization <file>', 'a token in each request: a file of JSON (-: standard input), see help webhooks')
    .option('--no-authorization', 'no token again')
    .option('--share-pace', 'share one pace with all webhooks of the account that have the same host and this option')
    .option('--no-share-pace', 'have its own pace again')

async function showWebhooks(flags: AccountFlags): Promise<void> {
  const { shown, isRunning } = await onAccount(flags, async ({ ask, isRunning }) => {
    const webhooks = await ask<Webhook[]>('GET', '/integration/webhook')
    const options = new Map((await optionsIn(ask)).map((one) => [one.url, one]))
    const health = await ask<WebhookHealth[]>('GET', '/integration/webhook/health')
    const shown = webhooks.result.map((webhook, at) => ({
      ...webhook,
      options: options.get(webhook.url),
      ...stateOfWebhook(health.result[at]),
    }))
    return { shown, isRunning }
  })
  if (flags.json) return printJson(shown)
  const rows = shown.map(({ url, options, state, down_since: down, refusing_since: refusing, ...rest }) => {
    const { error, pending, ...switches } = rest
    const since = down ?? refusing
    const chosen = SWITCH_NAMES.filter((name) => switches[name])
    const events = [...(chosen.length === SWITCH_NAMES.length ? ['all'] : chosen), ...(options?.events ?? [])]
    const trouble = options?.problem == null ? state : `${state}, but ${options.problem.message}`
    const text = since === null ? trouble : `${state} ${describeDown(since, error ?? '')}`
    // --json has it whole, as the API does.
    return [shownUrl(url), options?.name, text, pending, events.join(','), describeOptions(options).join(' ')]
  })
  const whenEmpty = `The account ${flags.account} has no webhook: hookswitch webhook add URL adds one.`
  printTable(['url', 'name', 'state', 'pending', 'events', 'options'], rows, { whenEmpty })
  if (shown.length > 0 && !isRunning)
    printError('No service is running on this store, so nothing is sent: hookswitch serve starts it.')
}

/** Returns whether a webhook is sent to, as the service has it, and how many deliveries are pending for it. */
function stateOfWebhook(health: WebhookHealth | undefined) {
  const { paused = false, down_since: down = null, refusing_since: refusing = null, pending = 0 } = health ?? {}
  const state = paused ? 'paused' : down !== null ? 'down' : refusing !== null ? 'refuses' : 'active'
  const isTroubled = health !== undefined && (state === 'down' || state === 'refuses')
  return {
    state,
    down_since: state === 'down' ? down : null,
    refusing_since: state === 'refuses' ? refusing : null,
    error: isTroubled ? lastErrorOf(health) : null,
    pending,
  } as const
}

/** Returns the options that differ from the defaults; the values of headers are secrets. */
function describeOptions(options: WebhookOptions | undefined): string[] {
  if (options === undefined) return []
  const { filter, order, max_per_second: pace, body, headers, retain, flow, share_pace: sharesPace } = options
  const { tls, authorization, discovery } = options
  return [
    ...(filter === null ? [] : [`filter=${JSON.stringify(filter)}`]),
    ...(order === 'strict' ? ['order=strict'] : []),
    ...(pace === null ? [] : [`max_per_second=${pace}`]),
    ...(body === null ? [] : [`body=${body.preset ?? 'template'}`]),
    ...(flow === null ? [] : [`flow=${flow.preset ?? `${flow.steps?.length ?? 0} steps`}`]),
    ...(sharesPace ? ['share_pace'] : []),
    ...(Object.keys(headers).length === 0 ? [] : [`headers=${Object.keys(headers).join(',')}`]),
    ...(retain ? ['retain'] : []),
    ...(discovery === null ? [] : [`discovery=${discovery}`]),
    ...(tls === null ? [] : ['tls']),
    ...(authorization === null ? [] : [`authorization=${authorization.kind}`]),
  ]
}

type AddFlags = AccountFlags & { events: string[] }

async function addWebhook(url: string, { events, ...flags }: AddFlags): Promise<void> {
  const wanted = eventsOf(events.length === 0 ? ['all'] : events)
  const added = await onAccount(flags, async ({ ask }) => {
    await ask('POST', '/integration/webhook/item', { body: { url, ...wanted.switches } }).catch((cause) => {
      throw cause instanceof Fault && cause.code === 'conflict' ? isInList(url, flags.account) : cause
    })
    const kept = (await optionsIn(ask)).find((one) => one.url === url)
    // Events that were asked for by name are all that it gets.
    const isChanged = events.length > 0 && !Bun.deepEquals(wanted.events, kept?.events)
    const inForce = isChanged ? await changeOptions(ask, { url, events: wanted.events }) : kept
    const secrets = await ask<WebhookSecret[]>('GET', '/integration/webhook/secret')
    const secret = secrets.result.find((one) => one.url === url)?.secret
    return { secret, options: inForce, isChanged, kept: describeKept(kept) }
  })
  const { secret, options, isChanged, kept } = added
  if (flags.json) return printJson({ url, secret, options })
  print(`added ${shownUrl(url)}\nits requests are signed with ${secret}`)
  const warning = options === undefined || isChanged ? undefined : retainWarning(options)
  if (warning !== undefined) printError(`note: ${warning}`)
  if (kept.length > 0) print(`its earlier options apply again: ${kept.join(' ')}\nhookswitch webhook set changes them`)
}

/** Returns the options that a URL has kept since it was in the list before. */
function describeKept(options: WebhookOptions | undefined): string[] {
  if (options === undefined) return []
  const { name, paused, events } = options
  return [
    ...(paused ? ['paused'] : []),
    ...(name === null ? [] : [`name=${JSON.stringify(name)}`]),
    ...(events.length === 0 ? [] : [`events=${events.join(',')}`]),
    ...describeOptions(options),
  ]
}

async function removeWebhook(url: string, flags: AccountFlags): Promise<void> {
  await onAccount(flags, async ({ ask }) => {
    await ask('DELETE', '/integration/webhook/item', { query: { url } }).catch((cause) => {
      throw cause instanceof Fault && cause.code === 'not_found' ? notInList(url, flags.account) : cause
    })
  })
  if (flags.json) printJson({ url })
  else print(`removed ${shownUrl(url)}: its pending deliveries are cancelled`)
}

async function setWebhook(url: string, flags: AccountFlags & OptionFlags & { events: string[] }): Promise<void> {
  const changes = changesOf(flags)
  const wanted = flags.events.length === 0 ? undefined : eventsOf(flags.events)
  if (wanted === undefined && Object.keys(changes).length === 0)
    throw wrongUsage(
      'there is nothing to change: give --events, --name, --paused, … (see hookswitch webhook set --help)',
    )
  const shown = await onAccount(flags, async ({ ask }) => {
    const { result: before, headers } = await ask<Webhook[]>('GET', '/integration/webhook')
    if (!before.some((one) => one.url === url)) throw notInList(url, flags.account)
    const changed = await changeOptions(ask, { ...changes, ...(wanted && { events: wanted.events }), url })
    if (wanted !== undefined) {
      const after = before.map((one) => (one.url === url ? { url, ...wanted.switches } : one))
      const ifMatch = headers.get('etag')
      await ask('PUT', '/integration/webhook', {
        body: after,
        headers: ifMatch === null ? {} : { 'if-match': ifMatch },
      })
    }
    return changed
  })
  if (flags.json) printJson(shown)
  else print(`changed ${shownUrl(url)}`)
}

/** Changes some of the options of a URL; the values of its headers stay. */
async function changeOptions(
  ask: AskAccount,
  changes: { readonly url: string } & Readonly<Record<string, unknown>>,
): Promise<WebhookOptions> {
  const { problem: _, ...before } = (await optionsIn(ask)).find(({ url }) => url === changes.url) ?? {}
  const { result, message } = await ask<WebhookOptions>('PUT', '/integration/webhook/options', {
    body: { ...before, ...changes },
  })
  // The first sentence says that it is done.
  const more = message.split(/(?<=\.) /).slice(1)
  for (const sentence of more) printError(inLine(sentence))
  return result
}

async function showSecret(url: string, flags: AccountFlags & { rotate?: boolean; force?: boolean }): Promise<void> {
  const { rotate = false, force = false } = flags
  const shown = await onAccount(flags, async ({ ask }) => {
    const { result } = await ask<WebhookSecret[]>('GET', '/integration/webhook/secret')
    const known = result.find((one) => one.url === url)
    if (known === undefined) throw notInList(url, flags.account)
    if (!rotate) return known
    const body = { url, ...(force && { force }) }
    const rotated = await ask<WebhookSecret>('POST', '/integration/webhook/secret/rotate', { body }).catch((cause) => {
      throw cause instanceof Fault
        ? new Fault(cause.code, cause.message.replace('send "force": true', 'give --force'))
        : cause
    })
    return rotated.result
  })
  if (flags.json) printJson(shown)
  else print(shown.secret)
}

/** A list may name a URL twice, which is then called twice: a command that is repeated does not ask for that. */
const isInList = (url: string, account: string) =>
  new Fault(
    'conflict',
    `${shownUrl(url)} is already in the list of account ${account}: hookswitch webhook set changes it`,
  )
