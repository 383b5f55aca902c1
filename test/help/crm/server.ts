/** The common part of the CRM stubs: a real server that keeps its requests, and fails when a test asks for it. */

export type CrmRequest = {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Headers
  readonly text: string
  /** The body as JSON; `undefined` if the body is not JSON. */
  readonly json: unknown
  readonly form: FormData | undefined
}
export type CrmAnswer = { readonly status: number; readonly body?: unknown; readonly headers?: Record<string, string> }

/** Answers a request in place of the CRM, which does not see it. `undefined`: the CRM answers. */
type Fault = (request: CrmRequest, at: number) => CrmAnswer | undefined

/** Returns an answer that refuses a request which a preset must never send. */
export const refused = (status: number, body: unknown): CrmAnswer => ({
  status,
  body,
  headers: { 'x-stub': 'refused' },
})

/** Starts the server of a stub. */
export function startCrmServer(answer: (request: CrmRequest) => CrmAnswer) {
  const requests: CrmRequest[] = []
  const refusals: string[] = []
  let fault: Fault = () => undefined
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const one = await read(request)
      requests.push(one)
      const { status, body, headers = {} } = fault(one, requests.length - 1) ?? answer(one)
      if (headers['x-stub'] !== undefined)
        refusals.push(`${one.method} ${one.path} ${one.text.slice(0, 400)} → ${status} ${JSON.stringify(body)}`)
      const text = body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body)
      return new Response(text, { status, headers: { 'content-type': 'application/json', ...headers } })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    requests,
    /** Requests that no rule of the CRM allows. */
    refusals,
    failWith(next: Fault): void {
      fault = next
    },
    stop: () => server.stop(true),
  }
}

async function read(request: Request): Promise<CrmRequest> {
  const { pathname, searchParams } = new URL(request.url)
  const type = request.headers.get('content-type') ?? ''
  const isForm = type.startsWith('multipart/form-data')
  const form = isForm ? await request.formData() : undefined
  const text = isForm ? '' : await request.text()
  return {
    method: request.method,
    path: pathname,
    query: searchParams,
    headers: request.headers,
    text,
    json: jsonOf(text),
    form,
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the value at a path of a JSON value, or `undefined`. */
export function at(json: unknown, ...path: readonly (string | number)[]): unknown {
  let value = json
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = Object.getOwnPropertyDescriptor(value, key)?.value
  }
  return value
}

/** A call as a stub has it in the end, in words that are the same for all CRMs; `null`: the CRM does not know. */
export type LoggedCall = {
  /** Our id of the call, where the CRM has a place for it. */
  readonly id: string | null
  readonly direction: 'inbound' | 'outbound'
  readonly number: string
  readonly isAnswered: boolean
  /** The user who has the call. */
  readonly user: string | null
  /** The time of day, UTC, when it began: `22:16:40`. */
  readonly startedAt: string
  /** Seconds of talk, or of the whole call. */
  readonly seconds: number
  readonly recordings: number
}

/** The stub of a CRM. */
export type CrmStub = Omit<ReturnType<typeof startCrmServer>, 'url'> & {
  /** The URL of the webhook. */
  readonly url: string
  /** The parameters of the preset for this stub, without users. */
  readonly parameters: Readonly<Record<string, unknown>>
  /** A user that the map may name, for each place of an extension in the list of all. */
  readonly userAt: (index: number) => string
  /** A user whom the CRM does not know, or who is not active any more. */
  readonly leftUser: string
  /** `false`: it takes any text for a user. */
  readonly knowsUsers?: false
  /** The header that its authorization gives, where it has one. */
  readonly authorization?: string
  readonly calls: () => readonly LoggedCall[]
  /** The users whose card is still shown, by our id of the call; absent: cards cannot be hidden. */
  readonly cards?: () => ReadonlyMap<string, ReadonlySet<string>>
  /** The users who were shown a card at any time, by our id of the call or by the caller's number. */
  readonly shown?: () => ReadonlyMap<string, ReadonlySet<string>>
  readonly showsBy?: 'number' | 'id'
  /** Whether the CRM has a place for such a call; absent: for every one. */
  readonly logs?: (call: { readonly direction: string; readonly number: string }) => boolean
  /** `false`: the CRM cannot store whether somebody answered. */
  readonly knowsAnswer?: boolean
  /** `seconds` of its calls are of the whole call, not of the talk. */
  readonly countsWholeCall?: boolean
  /** `address`: its recordings are links; absent: they are files. */
  readonly recordingIs?: 'address'
  /** The CRM knows no repeated call: after a kill it may have one twice. */
  readonly repeats?: 'unknown'
  /** The answers that mean: too many requests. */
  readonly limited: readonly CrmAnswer[]
  /** The answer that means: the token has expired; absent: its keys do not expire. */
  readonly expired?: CrmAnswer
  /** The answers to a wrong key, some with status 200. */
  readonly wrongKey: readonly CrmAnswer[]
  /** The answers of a passing fault, some with status 200. */
  readonly passing: readonly CrmAnswer[]
}

/** Returns the time of day of a time, UTC: `22:16:40`. */
export const timeOfDay = (time: string | number): string => new Date(time).toISOString().slice(11, 19)
