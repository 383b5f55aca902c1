import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { loadPresets } from '../../app/presets.ts'
import type { Tested, TestedFlow } from '../../deliveries/deliveries.ts'
import type { EventKind } from '../../events/kinds.ts'
import { exampleTexts } from '../../events/samples.ts'
import {
  type CallPreview,
  type PresetCheck,
  type PresetDirectory,
  type PresetTrial,
  shownPresets,
} from '../../flows/flows.ts'
import { Fault } from '../../lib/fault.ts'
import { shownUrl } from '../../lib/shown-url.ts'
import { oneLine } from '../../lib/terminal-text.ts'
import { wrongUsage } from '../../lib/usage.ts'
import { explain } from '../../pbx/pbx.ts'
import { createTemplateRenderer } from '../../templates/templates.ts'
import type { Preview } from '../../webhooks/webhooks.ts'
import { readGivenRecording } from '../given-recording.ts'
import { hasStore } from '../open-store.ts'
import { print, printError, printJson } from '../print.ts'
import { COMMAND_LOG } from '../service.ts'
import { printTable } from '../table.ts'
import { type AccountFlags, notInList, onAccount, optionsIn } from '../webhook-account.ts'
import { changesOf } from '../webhook-flags.ts'

// The commands that try a webhook: previews of its requests, checks of a CRM preset, and test requests.

type TrialFlags = AccountFlags & { flow?: string }
type PreviewFlags = AccountFlags & { event?: EventKind; call?: string; recording?: string }

/** Prints the request for an event, or the requests that a call or a recording would have caused. */
export async function showPreview(url: string, flags: PreviewFlags): Promise<void> {
  const { call, recording, event = 'call_started' } = flags
  if ([flags.event, call, recording].filter((one) => one !== undefined).length > 1)
    throw wrongUsage('--event, --call and --recording: give one of them')
  if (call !== undefined || recording !== undefined) return await showCallPreview(url, flags)
  const { preview, flow } = await onAccount(flags, async ({ ask }) => {
    const known = (await optionsIn(ask)).find((one) => one.url === url)
    if (known === undefined) throw notInList(url, flags.account)
    const body = { event, body: known.flow === null ? known.body : null, url }
    const { result: preview } = await ask<Preview>('POST', '/integration/webhook/preview', { body })
    if (known.flow === null) return { preview, flow: undefined }
    const events = [{ name: event, callId: 'sample', body: exampleTexts().get(event) ?? '' }]
    const shown = await ask<CallPreview>('POST', EVENTS_PREVIEW, { body: { url, events } })
    return { preview, flow: { ...shown.result, not_sent: preview.not_sent } }
  })
  if (preview.not_sent !== null && !flags.json) print(preview.not_sent)
  if (flow !== undefined) {
    printSteps(flow, flags)
    return
  }
  if (flags.json) return printJson(preview)
  print(`Content-Type: ${preview.content_type}`)
  print(preview.body === '' ? 'this event is not sent: its template result is empty' : preview.body)
}

const EVENTS_PREVIEW = '/integration/webhook/preview/events'

/** Prints the requests that a call would have caused. */
async function showCallPreview(url: string, flags: PreviewFlags): Promise<void> {
  const { call, recording, account } = flags
  const { result } = await onAccount(flags, ({ ask }) =>
    call === undefined
      ? ask<CallPreview>('POST', EVENTS_PREVIEW, {
          body: { url, events: eventsOfRecording(recording ?? '', account) },
        })
      : ask<CallPreview>('POST', '/integration/webhook/preview/call', { body: { url, call_id: call } }),
  )
  printSteps(result, flags)
}

function printSteps(preview: CallPreview, flags: PreviewFlags): void {
  const { steps, truncated } = preview
  if (flags.json) {
    printJson(preview)
    return
  }
  if (steps.length === 0) print('no step of the flow begins with this event: nothing is sent')
  for (const { event, step, method, url: target, headers, body, skipped, error, answer } of steps) {
    print([event, step, ...(target === null ? [] : [method, oneLine(target)])].join('\t'))
    if (skipped !== null) print(`  ${skipped}`)
    if (error !== null) print(`  error: ${oneLine(error)}`)
    if (headers.length > 0) print(`  headers: ${headers.join(', ')}`)
    if (body !== null) print(`  ${oneLine(body)}`)
    if (answer !== null) print(`  documented answer: ${answer.status} ${oneLine(JSON.stringify(answer.body))}`)
  }
  if (truncated !== null)
    print(`not shown: ${truncated.step} of ${truncated.event}, and what follows: ${truncated.reason}`)
}

/** Returns the events of a recording of a PBX, as an account gets them. */
function eventsOfRecording(file: string, account: string) {
  const recording = readGivenRecording(file)
  const { explained } = explain([recording], { pbx: basename(file), trunks: [], extensions: [], variables: [] })
  return explained.map(({ event: { name, callId, body } }) => ({
    name,
    callId,
    body: JSON.stringify({ ...body, data: { ...body.data, account } }),
  }))
}

/** Tries the preset of a URL, or a given one, at a path of the API. */
async function tryPreset<Result>(path: string, url: string, flags: TrialFlags): Promise<Result> {
  const given = flags.flow === undefined ? undefined : presetIn(changesOf({ flow: flags.flow }).flow, url)
  // Before the first start of the service, a file has all that a trial needs.
  const place = given !== undefined && !hasStore(flags) ? emptyStore() : undefined
  const { result } = await onAccount({ ...flags, ...place?.flags }, async ({ ask }) => {
    const trial = given ?? presetIn((await optionsIn(ask)).find((one) => one.url === url)?.flow, url, flags.account)
    return ask<Result>('POST', path, { body: trial })
  }).finally(() => place?.remove())
  return result
}

/** Makes a place for a store that is needed for one request. */
function emptyStore() {
  const data = mkdtempSync(join(tmpdir(), 'hookswitch-trial-'))
  return {
    flags: { data, account: 'default', mayCreate: true },
    remove: () => rmSync(data, { recursive: true, force: true }),
  }
}

/** Returns the preset of a flow. @throws Fault if it has none; without a flow its webhook is not in the list. */
function presetIn(flow: unknown, url: string, account?: string): PresetTrial {
  const { preset, parameters = {} } = Object(flow)
  if (typeof preset === 'string') return { url, preset, parameters }
  if (account === undefined) throw new Fault('invalid', 'the file has no preset: { "preset": …, "parameters": … }')
  throw flow === undefined
    ? notInList(url, account)
    : new Fault('invalid', `${shownUrl(url)} has no preset of a CRM: set one with webhook set --flow`)
}

/** Sends a request that changes nothing, and prints the answer. */
export async function checkPreset(url: string, flags: TrialFlags): Promise<void> {
  const checked = await tryPreset<PresetCheck>('/integration/webhook/preset/check', url, flags)
  if (flags.json) printJson(checked)
  else for (const warning of checked.warnings) printError(`warning: ${oneLine(warning)}`)
  if (checked.error !== null) throw new Fault('unavailable', oneLine(checked.error))
  if (!flags.json)
    print([checked.status, `${checked.duration_ms} ms`, oneLine(checked.response ?? '')].join('\t').trimEnd())
}

/** Prints the users of the CRM. */
export async function listPresetUsers(url: string, flags: TrialFlags): Promise<void> {
  const listed = await tryPreset<PresetDirectory>('/integration/webhook/preset/directory', url, flags)
  if (flags.json) printJson(listed)
  if (listed.error !== null) throw new Fault('unavailable', oneLine(listed.error))
  if (!flags.json)
    printTable(
      ['id', 'name', 'extension'],
      listed.users.map(({ id, name, extension }) => [id, name, extension]),
      { whenEmpty: 'the CRM has no users' },
    )
}

/** Prints the presets, or the parameters of one. */
export async function showPresets(name: string | undefined, { json }: { json?: boolean }): Promise<void> {
  await loadPresets(
    { presets: process.env.HOOKSWITCH_PRESETS },
    { log: COMMAND_LOG, templates: createTemplateRenderer() },
  )
  const presets = shownPresets()
  const chosen = name === undefined ? undefined : presets.find((one) => one.name === name)
  if (name !== undefined && chosen === undefined)
    throw new Fault('invalid', `there is no preset ${name}: hookswitch webhook preset lists them`)
  if (json) {
    printJson(chosen ?? presets)
    return
  }
  if (chosen === undefined) {
    printTable(
      ['name', 'title'],
      presets.map((one) => [one.name, one.title]),
      { whenEmpty: 'there are no presets' },
    )
    return
  }
  printTable(
    ['parameter', 'type', 'required', 'default', 'meaning'],
    chosen.parameters.map((one) => [
      one.name,
      one.choices === undefined ? one.type : one.choices.map(({ value }) => value).join(' | '),
      one.required ? 'yes' : 'no',
      one.default === null ? '-' : String(one.default),
      `${one.title}: ${one.help}`,
    ]),
    { whenEmpty: `${chosen.name} has no parameters` },
  )
}

/** Sends a test request, or plays a flow, and prints the outcome. */
export async function sendTest(url: string, flags: AccountFlags & { send?: boolean }): Promise<void> {
  const { json, account } = flags
  const body = { url, ...(flags.send && { send: true }) }
  const { result: tested } = await onAccount(flags, async ({ ask }) => {
    if (!(await optionsIn(ask)).some((one) => one.url === url)) throw notInList(url, account)
    return ask<Tested | TestedFlow>('POST', '/integration/webhook/test', { body })
  })
  if ('steps' in tested) {
    printFlowTest(tested, { json, isSent: flags.send === true })
    return
  }
  const { status, error, duration_ms, response } = tested
  if (json) printJson({ status, duration_ms, error, response })
  // Without an answer, the error is the whole result.
  else if (error === null)
    print([status ?? 'PUBACK', `${duration_ms} ms`, oneLine(response ?? '')].join('\t').trimEnd())
  // MQTT has no status.
  if (error !== null || (status !== null && (status < 200 || status >= 300)))
    throw new Fault(
      'unavailable',
      status === null
        ? `the request was not delivered: ${error}`
        : `the receiver did not accept the request: ${error ?? `it answered ${status}`}`,
    )
}

function printFlowTest(tested: TestedFlow, { json, isSent }: { json: boolean | undefined; isSent: boolean }): void {
  if (json) printJson(tested)
  else
    printTable(
      ['step', 'request', 'outcome', 'body'],
      tested.steps.map(({ step, method, url, status, error, body }) => [
        step,
        url === null ? '-' : `${method} ${shownUrl(url)}`,
        [status, error].filter((part) => part !== null).join(' ') || 'not sent',
        oneLine(body ?? ''),
      ]),
      { whenEmpty: 'no step begins with call_ended' },
    )
  const failed = tested.steps.find(({ error }) => error !== null && !error.startsWith('skipped'))
  if (failed !== undefined) throw new Fault('unavailable', `${failed.step}: ${failed.error}`)
  if (!isSent && !json) printError('Nothing was sent: --send sends these requests.')
}
