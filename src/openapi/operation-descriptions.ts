/** The groups of operations, in the order in which they are shown. */
export const TAGS: Readonly<Record<string, string>> = {
  Authentication: 'Logins, API tokens and the present user',
  Webhooks: 'URLs that receive call events, with their secrets and options',
  Deliveries: 'The log of deliveries with every attempt, and retries by hand',
  Calls: 'Records and recordings of calls, events to read back, and a live stream',
  PBXs: 'The PBXs of the account; administrators add, check and remove them',
  Page: 'For the web page: the present state and the last hour',
  Operation: 'For the operator of this service',
  'Call events': 'Requests that this service sends to webhooks',
}

/** Descriptions of operations, by their ids; the others have their own. */
export const OPERATION_DESCRIPTIONS: Readonly<Record<string, string>> = {
  getHealth: '200 while this service can write to its store, else 503. For load balancers and monitoring.',
  postAuthLogin:
    'Returns a token, which is valid until it is revoked. After 10 wrong passwords for an address within 5 minutes: 429 with Retry-After.',
  getAuthMe: 'The user whose token this is.',
  postAuthChangePassword:
    'Returns a new token. The other tokens stay valid, unless `revoke_other_tokens` is true: then the token of this request ends too.',
  postAuthLogout: 'Ends the token of this request. Other tokens of the user stay valid.',
  deleteAuthTokenId: 'Ends a token at once, such as that of a lost device. Its id is that of the list of tokens.',
  getIntegrationWebhook: 'The whole list in its order. The same URL may be in it twice, and is then called twice.',
  putIntegrationWebhook:
    'All or nothing. What is pending for a URL that leaves the list is cancelled; secrets and options of a URL are kept for a year.',
  getIntegrationWebhookSecret:
    'Each URL has a secret of its own. Receivers verify requests with it, using any library for Standard Webhooks.',
  postIntegrationWebhookSecretRotate:
    'Requests have two signatures for 24 hours, so that the receiver can change over. Another rotation within that time is 409, unless it is forced.',
  getIntegrationWebhookOptions: 'Values of headers are secrets: they are read as `null`.',
  putIntegrationWebhookOptions:
    'They apply to requests from then on, `filter` and `events` to events from then on. A template is tried with a sample of every kind of event.',
  postIntegrationWebhookPreview: 'Renders a body with a sample event. At most 60 a minute.',
  getCall: 'One page at a time: `next_cursor` leads to the next one.',
  getCallId: 'As it was when the call was saved, after its end.',
  getCallIdRecordingRecordingLink: 'For players that cannot send a header.',
  getOverview: 'What the web page shows first. It then follows `GET /stream`.',
  getOverviewWebhook: 'Delivered, failed, and how long deliveries took.',
  getCallIdEvent: 'In the order of `sequence`.',
  getIntegrationDelivery: 'All filters must match. One page at a time: `next_cursor` leads to the next one.',
  getIntegrationDeliveryId: 'With the body as it was sent and every attempt with its response.',
  postIntegrationDeliveryIdRetry:
    'Starts a new schedule whose first attempt is due at once; earlier attempts stay in the log. A delivered one is sent again.',
  postIntegrationDeliveryRetry: 'All filters must match; without `state` the failed ones. The body may be left out.',
  postIntegrationWebhookTest:
    'The request has a real signature and is stored nowhere. Two at a time for an account. It ignores pauses and limits.',
}
