/**
 * The recording of a second connection for the recording of a first one: it is played afterwards, and both share one
 * `.expected`.
 */
export const CONTINUES: Readonly<Record<string, string>> = {
  't-reconnect': 't2-reconnect-resync',
  't4-reconnect-end-in-gap': 't4b-reconnect-end-in-gap',
  'gap-parked-call-retrieved': 'gap-parked-call-retrieved-2',
  'gap-named-group-reached': 'gap-named-group-reached-2',
  'gap-recorded-answer': 'gap-recorded-answer-2',
  'gap-failover-second-rings': 'gap-failover-second-rings-2',
  'z-restart': 'z2-after-restart',
  'reconnect-1': 'reconnect-2',
  'lf-pbx-killed-1': 'lf-pbx-killed-2',
  'gap-consultation-begins': 'gap-consultation-begins-2',
  'gap-blind-answer-1': 'gap-blind-answer-2',
  'gap-group-answered': 'gap-group-answered-2',
  'gap-refer-to-enterprise-1': 'gap-refer-to-enterprise-2',
  'gap-click-answer-1': 'gap-click-answer-2',
  'gap-agent-found': 'gap-agent-found-2',
  'gap-atxfer-begins': 'gap-atxfer-begins-2',
  'gap-atxfer-joined': 'gap-atxfer-joined-2',
  'gap-transferer-leaves': 'gap-transferer-leaves-2',
  'gap-transfer-to-menu': 'gap-transfer-to-menu-2',
  'gap-transfer-to-queue': 'gap-transfer-to-queue-2',
  'gap-transfer-to-queue-unseen': 'gap-transfer-to-queue-unseen-2',
  'gap-moved-from-queue': 'gap-moved-from-queue-2',
  'gap-blind-by-caller': 'gap-blind-by-caller-2',
  'gap-dtmf-consultation': 'gap-dtmf-consultation-2',
  'gap-queue-member-missing': 'gap-queue-member-missing-2',
  'gap-list-is-late': 'gap-list-is-late-2',
}
