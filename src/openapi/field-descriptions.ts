/**
 * Describes the fields of named schemas and every value of their enumerations, for the API document. A test proves that
 * no field of a named schema is without a description.
 */
export const FIELD_DESCRIPTIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Party: {
    number: 'The number of the party as the PBX has it; `null` if it is anonymous or unknown',
    name: 'Its display name, or `null`',
    extension: "The extension, if the party is one of the PBX's own; else `null`",
    e164: 'The number in E.164 form, if the PBX URL names a country and the number is a possible one; else `null`',
  },
  Hangup: {
    cause:
      'Why the call ended. `normal`: a party hung up. `busy`, `no_answer`, `rejected`: what the called party did. ' +
      '`cancelled`: the caller gave up. `unavailable`: the party could not be reached. `congestion`: the network was ' +
      'overloaded. `invalid_number`: the number does not exist. `pbx_restart`: the PBX restarted. `other`: another ' +
      'cause. `unknown`: the end was not seen',
    code: 'The Q.850 code, or `null`',
    by: 'Who ended the call: `caller`, `callee`, `system` (the PBX), or `unknown`',
  },
  Call: {
    id: 'The id of the call: a UUIDv7, the same through transfers and restarts',
    pbx_id: "The PBX's own id (Asterisk Linkedid, FreeSWITCH uuid of the first channel), for finding the call there",
    merged_from: 'The ids of calls that were merged into this one',
    merged_into: 'The id of the call that this one was merged into and in which it went on; else `null`',
    parent_id: 'Of a consultation: the id of the call for which it was made; else `null`',
    direction: '`inbound`: from outside. `outbound`: to outside. `internal`: within the PBX',
    state:
      '`ringing`: nobody has answered yet. `waiting`: in a queue or an IVR. `answered`: two people talk. `ended`: the ' +
      'call is over',
    from: 'Who called',
    to:
      'Who was called: of an inbound call the dialled number, of an internal call the extension, of an outbound call the ' +
      'number as sent to the trunk',
    did: 'The outside number that was called, of an inbound call; else `null`',
    started_at: 'When the call started; `null` if that was not seen',
    answered_at: 'When the first person answered; never an IVR, a queue or voicemail',
    ended_at: 'When the call ended; `null` while it is up',
    duration: 'Whole seconds from the start to the end',
    wait_duration: 'Whole seconds from the start to the answer, or to the end of an unanswered call',
    talk_duration: 'Whole seconds from the answer to the end',
    result:
      '`answered`: a person answered. `no_answer`: nobody did, or the call was declined. `busy`: the called party was ' +
      'busy. `cancelled`: the caller gave up. `failed`: it could not be set up. `voicemail`: voicemail answered. `null` ' +
      'while the call is up',
    answered_by: 'The party that answered first; `null` if none did',
    handled_by: 'The parties that handled the call, in order; the last one owns it',
    queue: 'The last queue that the call was in, or `null`',
    transfers: 'How many transfers there were so far',
    recorded: 'Whether a recording has started',
    hangup: 'How the call ended; `null` while it is up',
    variables: 'The channel variables that the operator chose',
    missed:
      "At the end of an inbound or internal call: whether none of the PBX's own people answered it. `null` before, and " +
      'of other calls',
    missed_by: 'Of a missed call: the extensions that were tried, in order; else empty',
    stages_omitted: 'How many stages were left out because the body would be too large',
    partial: 'Whether its beginning, an answer or its end was not seen',
  },
  Stage: {
    id: 'The id of the stage',
    parent_id: 'The id of the group or queue to which it belongs, or `null`',
    kind: '`user`: an extension. `external`: an outside number. `group`: several that ring together. `queue`: a queue',
    target: 'The extension, the outside number, the name of the queue, or the dialplan extension that rang the group',
    name: 'The display name of the target, or `null`',
    attempt: 'The number of this attempt to reach the same target within the call',
    started_at: 'When it was dialled',
    answered_at: 'When it was answered; `null` if it was not',
    ended_at: 'When it stopped ringing, or when that party left the call',
    ring_duration: 'Whole seconds from the first ringing; 0 if it did not ring',
    talk_duration: 'Whole seconds from the answer to the end',
    result:
      '`answered`. `no_answer`: it rang until it was given up. `busy`, `rejected`: what the phone answered. `cancelled`: ' +
      'the caller gave up. `answered_elsewhere`: another phone of the group answered. `unavailable`: it could not be ' +
      'reached. `congestion`: the network was overloaded. `forwarded`: it was forwarded. `abandoned`: the caller left ' +
      'the queue. `timeout`: the queue gave up. `other`: another cause. `null` while it goes on',
    forwarded_to: 'The number to which it was forwarded, or `null`',
  },
  Transfer: {
    kind: '`blind`: without a consultation. `attended`: after one',
    by: 'The party that transferred the call',
    transferee: 'The party that was transferred, or `null`',
    to: 'The target; of a blind transfer what was dialled',
    call_id: 'The id of the call that goes on',
    other_call_id: 'Of an attended transfer: the id of the call that was merged into it; else `null`',
  },
  Recording: {
    id: 'The id of the recording',
    path: 'Its path on the PBX, as the PBX reported it',
    url: 'A link to the recording, or `null`',
    format: 'The format of the file, such as `wav`',
    duration: 'Its length in whole seconds',
    started_at: 'When it started',
    ended_at: 'When it ended',
  },
  CallRecord: {
    call: 'The call as it was at its end',
    stages: 'Its stages in order of their start',
    recordings: 'Its recordings',
  },
  Failure: {
    status: 'Always `error`',
    code: 'The HTTP status code',
    result: 'For 422 the errors, each with its path; else `[]`',
    message: 'A message for people',
  },
  Delivery: {
    id: 'The id of the delivery',
    event_id: 'The id of the event: the header `webhook-id`',
    event: 'The kind of event',
    call_id: 'The id of the call',
    url: 'The URL of the webhook',
    state:
      '`pending`: it will be sent, or sent again. `delivered`: the receiver answered 2xx. `failed`: all attempts failed. ' +
      '`cancelled`: its URL left the list',
    attempts_made: 'How many attempts were made, probes not counted',
    next_attempt_at: 'When it is retried; `null` if it is not scheduled',
    created_at: 'When the event was stored',
    delivered_at: 'When it was delivered; `null` if it was not',
  },
  DeliveryDetail: {
    attempts: 'All attempts, the oldest first',
  },
  Attempt: {
    at: 'When the request was sent',
    status: 'The status of the response; `null` if there was none',
    duration_ms: 'Milliseconds until the status',
    error: 'Why there was no response; `null` if there was one',
    address: 'The IP address to which the request went',
    response: 'The first 4 KiB of the body of the response',
  },
  User: {
    id: 'The id of the user',
    name: 'The name of the user',
    email: 'The e-mail address, in lower case',
    type: 'The type of the user: `1` is `USER`; `2` is `ADMIN`, who manages all PBXs',
    created_at: 'When the user was created',
  },
  Token: {
    id: 'The id of the token, for revoking it',
    created_at: 'When it was created',
  },
  Webhook: {
    url: 'Where requests go: an absolute http: or https: URL',
  },
  WebhookSecret: {
    url: 'The URL whose requests it signs',
  },
  EventBody: {
    time: 'When the event happened, not when it is sent',
    data: 'The event',
  },
  EventData: {
    name: 'The kind of event',
    sequence: 'The place of the event among those of its call: 1, 2, 3, … without gaps',
    account: 'The name of the account',
    pbx: 'The name of the PBX',
    call: 'The whole call as of that moment',
    stage: 'The stage that the event is about',
    transfer: 'The transfer that the event is about',
    stages: 'All stages of the call, in order of their start',
    recordings: 'The recordings of the call',
    recording: 'The recording that the event is about',
    by: 'The party that pressed hold, or `null`',
  },
  FieldError: {
    path: 'A JSON pointer into the body, or the name of a parameter after a `/`',
    message: 'What is wrong there',
  },
  CallQueue: {
    name: 'The name of the queue',
    position: 'The position of the caller in it, as the PBX reported it; `null` if it did not',
    wait_duration: 'Whole seconds in the queue; `null` until that is over',
  },
  UserType: { number: 'The number of the type', name: 'Its name' },
  Login: { email: 'The e-mail address of the user, without regard to case', password: 'The password of the user' },
  AccessToken: { access_token: 'Goes into the header `Authorization: Bearer …`' },
  PasswordChange: { old_password: 'The present password', password: 'The new password: 1024 bytes at most' },
  NamedToken: {
    id: 'The id of the token, for revoking it',
    name: 'What it is for',
    access_token: 'The token itself, which cannot be read again',
  },
  WebhookUrl: { url: 'A URL of the list of webhooks' },
  SecretRotation: { url: 'A URL of the list of webhooks' },
  RecordingLink: { path: 'The link, below the address of this service', expires_at: 'Until when it is valid' },
  TestResult: {
    status: 'The status of the response; `null` if there was none',
    duration_ms: 'Milliseconds until the status',
    error: 'Why there was no response; `null` if there was one',
    response: 'The first 4 KiB of the body of the response',
  },
  CallPage: { items: 'The calls, the newest first', next_cursor: 'The `cursor` of the next page; `null` on the last' },
  DeliveryPage: { items: 'The deliveries, the newest first' },
  Event: { body: 'The body of its requests, as an object' },
  EventPage: { items: 'The events, in the order in which they were stored' },
  Queued: { queued: 'How many deliveries are sent again' },
  Overview: {
    now: 'The time of the service',
    account: 'The name of the account',
    calls: 'The calls that are up',
    pbxs: 'The PBXs of the account',
    webhooks: 'The list of webhooks, each with the state of its receiver',
    minutes: 'The last hour, minute by minute',
  },
  LiveCall: { pbx: 'The name of the PBX', call: 'The call as it is now', stages: 'Its stages so far' },
  PbxStatus: {
    name: 'The name of the PBX',
    kind: '`asterisk` or `freeswitch`',
    state: '`up`: events arrive. `connecting`, `down`: it is tried again. `refused`: the login was refused',
    since: 'Since when it is in that state',
    detail: 'Why it is not up; `null` if it is',
    endpoints: 'Which endpoints count as trunks and phones',
  },
  PbxEndpoints: {
    trunks: 'Endpoints that count as trunks, at most 100',
    phones: 'Endpoints that count as phones, at most 100',
    undecided: 'Endpoints that were not classified yet, at most 100',
  },
  WebhookHealth: {
    url: 'The URL of the webhook',
    occurrence: 'Which one it is, from 0, if the list has its URL several times',
    name: 'Its name for people, from its options; `null` if it has none',
    paused: 'Whether its options pause it',
    filtered: 'Whether its options select some events',
    down_since: 'Since when only probes are sent to it; `null` if it is not down',
    pending: 'How many deliveries are pending for it',
    last: 'Its last attempt; `null` if there was none since the start',
  },
  LastAttempt: {
    at: 'When it was made',
    status: 'The status of the response; `null` if there was none',
    error: 'Why there was no response; `null` if there was one',
    duration_ms: 'Milliseconds until the status',
  },
  WebhookMinute: {
    at: 'When the minute began',
    delivered: 'How many deliveries were delivered',
    failed_attempts: 'How many attempts failed, probes not counted',
    failed_probes: 'How many probes failed',
    p50_ms: 'Half of the deliveries took at most this long from the event; `null` if there was none',
    p99_ms: '99 of 100 deliveries took at most this long from the event; `null` if there was none',
  },
  Minute: { events: 'How many events were stored' },
  EventWithDeliveries: {
    id: 'The id of the event: the header `webhook-id`',
    name: 'The kind of event',
    sequence: 'The place among the events of its call',
    at: 'When it happened',
    stage: 'The stage that it is about, or `null`',
    transfer: 'The transfer that it is about, or `null`',
    deliveries: 'Its deliveries',
  },
}

/** Descriptions of parameters, by their names; a schema may have its own. */
export const PARAMETER_DESCRIPTIONS: Readonly<Record<string, string>> = {
  id: 'The id of what the path names',
  recording: 'The id of the recording',
  name: 'The name of what the path names',
  limit: 'How many there are on a page at most',
  direction: 'Only calls of this direction',
  state: 'Only deliveries in this state',
  event: 'Only this kind of event',
  url: 'Only this URL',
}
