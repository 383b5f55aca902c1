// biome-ignore-all lint/suspicious/noTemplateCurlyInString: dialplans are written like that
import { describe, expect, test } from 'bun:test'
import { createDialplanReader } from '../../../src/pbx/ami/dialplan.ts'

/** Returns what one priority of a dialplan reveals about the endpoints that it dials. */
function read(application: string, appData: string): string {
  const reader = createDialplanReader()
  reader.read(application, appData)
  const dialled = [...reader.dialled()].map(([name, how]) => `${name} ${how}`)
  const globals = [...reader.globals()].map(([name, before]) => `${before}\${${name}}`)
  return [...dialled, ...globals, ...(reader.numbered ? ['OUT_n'] : [])].join(', ')
}

describe('a dialplan dials', () => {
  test.each([
    ['PJSIP/101,20,tT', 'PJSIP/101 alone'],
    ['PJSIP/101&PJSIP/anna,20', 'PJSIP/101 alone, PJSIP/anna alone'],
    ['PJSIP/${EXTEN}@trunk,30,tT', 'PJSIP/trunk with_number'],
    ['PJSIP/${EXTEN:1}@555012,30', 'PJSIP/555012 with_number'],
    ['PJSIP/15557654321@trunk', 'PJSIP/trunk with_number'],
    ['PJSIP/trunk/sip:${EXTEN:1}@192.0.2.1:5060,20', 'PJSIP/trunk with_number'],
    ['PJSIP/trunk/sip:15557654321@192.0.2.1', 'PJSIP/trunk with_number'],
    ['PJSIP/101/sip:101@192.0.2.1:5060,20', 'PJSIP/101 alone'],
    ['SIP/provider/${EXTEN}', 'SIP/provider with_number'],
    ['SIP/${EXTEN}@provider', 'SIP/provider with_number'],
    ['IAX2/user:word@provider/${EXTEN}', 'IAX2/provider with_number'],
    ['DAHDI/g1/${EXTEN:${LENGTH(9)}}', 'DAHDI/g1 with_number'],
    ['${PJSIP_DIAL_CONTACTS(101)}&${PJSIP_DIAL_CONTACTS(anna)},20', 'PJSIP/101 alone, PJSIP/anna alone'],
    ['PJSIP/101&PJSIP/15557654321@trunk,20,M(a&b)', 'PJSIP/101 alone, PJSIP/trunk with_number'],
    ['PJSIP/${EXTEN},15,tT', ''],
    ['PJSIP/1${EXTEN:1},7', ''],
    ['${PJSIP_DIAL_CONTACTS(${ARG1})},20', ''],
    ['Local/101@from-internal/n&Local/102@from-internal/n', ''],
    ['${TRUNK}/${EXTEN:1},30', '${TRUNK}'],
    ['PJSIP/${EXTEN:1}@${TRUNK},30', 'PJSIP/${TRUNK}'],
    ['${OUT_${DIAL_TRUNK}}/${OUTNUM}${OUT_${DIAL_TRUNK}_SUFFIX},300', 'OUT_n'],
    ['PJSIP/${OUTNUM}@${OUT_${DIAL_TRUNK}:6},300', 'OUT_n'],
    ['', ''],
    [',,,', ''],
    ['${', ''],
    ['PJSIP/', ''],
    ['PJSIP/}{@', ''],
  ])('%s: %s', (appData, expected) => {
    expect(read('Dial', appData)).toBe(expected)
  })

  test.each([
    ['Page', 'PJSIP/101&PJSIP/102,d', 'PJSIP/101 alone, PJSIP/102 alone'],
    ['Originate', 'PJSIP/${EXTEN}@trunk,app,Echo', 'PJSIP/trunk with_number'],
    ['RetryDial', 'beep,5,2,PJSIP/${EXTEN}@trunk', 'PJSIP/trunk with_number'],
    ['NoOp', 'PJSIP/101', ''],
    ['Set', 'X=PJSIP/15557654321@trunk', ''],
  ])('%s(%s): %s', (application, appData, expected) => {
    expect(read(application, appData)).toBe(expected)
  })

  test('with a number or alone: with a number counts, in any order', () => {
    for (const order of [
      ['PJSIP/t', 'PJSIP/1@t'],
      ['PJSIP/1@t', 'PJSIP/t'],
    ]) {
      const reader = createDialplanReader()
      for (const appData of order) reader.read('Dial', appData)
      expect([...reader.dialled()]).toEqual([['PJSIP/t', 'with_number']])
    }
  })

  test('endpoints without end do not fill the memory', () => {
    const reader = createDialplanReader()
    for (let count = 0; count < 20_000; count++) reader.read('Dial', `PJSIP/e${count}&\${V${count}}/1`)
    expect([reader.dialled().size, reader.globals().size]).toEqual([10_000, 50])
  })
})
