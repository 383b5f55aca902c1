import type { Command } from 'commander'
import { newAttempt } from '../../deliveries/sending/attempt.ts'
import { sendSample } from '../../deliveries/sending/test-request.ts'
import { Fault } from '../../lib/fault.ts'
import { oneLine } from '../../lib/terminal-text.ts'
import { allowListOf, httpUrl } from '../../settings.ts'
import { withExistingStore } from '../open-store.ts'
import { dataOption, jsonOption, list } from '../options.ts'
import { print, printJson } from '../print.ts'

type Flags = { data: string; json?: boolean; account: string; allowNet: string[]; proxy?: string }

export function webhookCommand(program: Command): void {
  program
    .command('webhook')
    .description('trying webhooks')
    .command('test')
    .argument('<url>', "a URL of the account's list")
    .description('send one signed sample request, stored nowhere, and print what came back')
    .option('--account <account>', 'whose list', 'default')
    .option('--allow-net <net>', 'as for serve (repeatable)', list, [])
    .option('--proxy <url>', 'as for serve')
    .addOption(dataOption())
    .addOption(jsonOption())
    .action(sendTest)
}

async function sendTest(url: string, { data, json, account, allowNet, proxy }: Flags): Promise<void> {
  const allow = allowListOf(allowNet)
  const attempt = newAttempt({ allow, ...(proxy === undefined ? {} : { proxy: httpUrl('--proxy', proxy) }) })
  const { status, error, duration_ms, response } = await withExistingStore(data, async (store) => {
    const accountId = await store.accounts.accountGetId(account)
    if (accountId === undefined)
      throw new Fault('not_found', `there is no account ${account}: hookswitch user list shows them`)
    return sendSample({ store, attempt }, accountId, url).catch((cause) => {
      throw cause instanceof Fault && cause.code === 'invalid' ? notInList(url, account) : cause
    })
  })
  if (json) printJson({ status, duration_ms, error, response })
  else print([status ?? error, `${duration_ms} ms`, oneLine(response ?? '')].join('\t').trimEnd())
  if (status === null || status < 200 || status >= 300)
    throw new Fault('unavailable', `the receiver did not take it: ${error ?? `it answered ${status}`}`)
}

const notInList = (url: string, account: string) =>
  new Fault('invalid', `${url} is not in the list of account ${account}: add it on the web page, or name its --account`)
