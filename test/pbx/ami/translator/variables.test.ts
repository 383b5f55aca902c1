import { expect, test } from 'bun:test'
import { AmiDecoder } from '../../../../src/pbx/ami/decoder.ts'
import { createAmiTranslator } from '../../../../src/pbx/ami/translator/translator.ts'
import { amiEvent, snapshotOf } from '../../../help/ami-event.ts'

const NOW_US = 1_795_213_000_000_000
const ID = '1795213000.1'

test('a variable is a signal when it changes; of a channel that is over nothing is kept', () => {
  const translator = createAmiTranslator({ trunks: [], extensions: [], variables: ['CRM'] })
  const decoder = new AmiDecoder()
  decoder.push(Buffer.from('Asterisk Call Manager/11.0.0\r\n'))
  const valuesIn = (...texts: string[]) =>
    texts
      .flatMap((text) => decoder.push(Buffer.from(text)))
      .flatMap((frame) => translator.event(frame, NOW_US))
      .flatMap((signal) => (signal.kind === 'variable' ? signal.value : []))
  const set = (value: string) => amiEvent('VarSet', snapshotOf(ID), { Variable: 'CRM', Value: value })
  const record = amiEvent('Cdr', {
    AccountCode: '',
    Source: '101',
    Destination: '102',
    DestinationContext: 'any',
    CallerID: '101',
    Channel: 'PJSIP/101-1',
    LastData: 'PJSIP/102',
    StartTime: '',
    Disposition: 'ANSWERED',
    AMAFlags: 'DOCUMENTATION',
    UniqueID: ID,
    UserField: '',
    CRM: '8',
  })
  expect(valuesIn(amiEvent('Newchannel', snapshotOf(ID)), set('7'), set('7'), set('8'), set('8'))).toEqual(['7', '8'])
  // Call detail records come after the end of their channel.
  const end = amiEvent('Hangup', snapshotOf(ID), { Cause: 16, 'Cause-txt': 'Normal Clearing' })
  expect(valuesIn(record, end)).toEqual([])
  expect(valuesIn(record, record)).toEqual(['8', '8'])
})
