import { describe, expect, test } from 'bun:test'
import { maskPbxUrl, restoreSecrets } from '../../../src/pbx/watch/pbx-secrets.ts'

describe('the URL of a PBX is shown without its secrets', () => {
  test.each([
    ['ami://hookswitch:s3cret@pbx:5038?name=office', 'ami://hookswitch:***@pbx:5038?name=office'],
    ['esl://:s3cret@[2001:db8::1]', 'esl://:***@[2001:db8::1]'],
    ['ami://u:a%40b@c@pbx', 'ami://u:***@pbx'],
    ['ami://u:s3cret@pbx#s3cret', 'ami://u:***@pbx'],
    ['ami://u:s@h?recordings=https://me:s3cret@web/rec/', 'ami://u:***@h?recordings=https://me:***@web/rec/'],
    ['ami://u:s@h?recordings=https://s3cret@web/', 'ami://u:***@h?recordings=https://***@web/'],
    [
      'ami://u:s@h?recordings=https%3A%2F%2Fme%3As3cret%40web%2F&trunks=a+b',
      'ami://u:***@h?recordings=https%3A%2F%2Fme%3A***%40web%2F&trunks=a+b',
    ],
    [
      'ami://u:s@h?recordings_token=s3cret&recordings=https://web/',
      'ami://u:***@h?recordings_token=***&recordings=https://web/',
    ],
    ['ami://u:s@h?%72ecordings_token=s3cret', 'ami://u:***@h?%72ecordings_token=***'],
    ['ami://u:s@h?recordings=/mnt/a@b', 'ami://u:***@h?recordings=/mnt/a@b'],
    ['s3cret', '***'],
  ])('%s', (url, shown) => {
    expect(maskPbxUrl(url)).toBe(shown)
  })
})

describe('a secret that is hidden', () => {
  const stored = 'ami://u:s3cret@pbx:5038?recordings=https://me:p4ss@web/&recordings_root=/a'

  test('is put back where it was, regardless of what else has changed', () => {
    const changed = 'ami://v:***@PBX?recordings_root=/b&recordings=https://you:***@web:443/other/&trunks=x'
    expect(restoreSecrets(changed, stored)).toEqual({
      url: 'ami://v:s3cret@PBX?recordings_root=/b&recordings=https://you:p4ss@web:443/other/&trunks=x',
    })
    expect(restoreSecrets(maskPbxUrl(stored), stored)).toEqual({ url: stored })
  })

  test('is not needed where it is given again', () => {
    expect(restoreSecrets('ami://u:new@elsewhere', stored)).toEqual({ url: 'ami://u:new@elsewhere' })
  })

  test.each([
    ['without one that is stored', 'ami://u:***@pbx', undefined, /none is stored/],
    ['of recordings without one that is stored', 'ami://u:s@pbx?recordings_token=***', stored, /none is stored/],
    ['for another host', 'ami://u:***@elsewhere', stored, /another protocol, host or port/],
    ['for another port', 'ami://u:***@pbx:5039', stored, /another protocol, host or port/],
    ['for another protocol', 'esl://u:***@pbx:5038', stored, /another protocol, host or port/],
    ['given for TLS, in clear', 'ami://u:***@pbx:5039', 'amis://u:s3cret@pbx', /another protocol, host or port/],
    ['of recordings for another host', 'ami://u:***@pbx?recordings=https://me:***@evil/', stored, /another protocol/],
    ['of recordings for another port', 'ami://u:***@pbx?recordings=https://me:***@web:8/', stored, /another protocol/],
    ['of recordings, in clear', 'ami://u:***@pbx?recordings=http://me:***@web/', stored, /another protocol/],
    [
      'of recordings whose host is hidden behind a second parameter',
      'ami://u:***@pbx?recordings=https://web/&recordings=https://me:***@evil/',
      stored,
      /another protocol, host or port|once/,
    ],
  ])('is refused %s', (_, url, before, message) => {
    expect(restoreSecrets(url, before)).toEqual({ wrong: expect.stringMatching(message) })
  })
})
