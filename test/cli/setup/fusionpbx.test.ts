import { expect, test } from 'bun:test'
import { parse } from 'csv-parse/sync'
import { customersCsv } from '../../../src/cli/setup/fusionpbx.ts'

test('an e-mail address of a customer is one field, whatever it holds', () => {
  const emails = ['me@a.example', 'me@a.example,admin', 'me@a.example,admin\nx,x,you@a.example', '"me@a.example', null]
  const csv = customersCsv(emails.map((email) => ({ domain: 'a.example', email })))
  expect(csv).toStartWith('a.example,a.example,me@a.example,user\n')
  expect(parse(csv)).toEqual(emails.map((email) => ['a.example', 'a.example', email ?? 'admin@a.example', 'user']))
})
